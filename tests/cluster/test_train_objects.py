"""The verbs that train, from a bucket into a bucket: a real S3 server on the loopback interface."""

import functools
import json
from pathlib import Path
from urllib.parse import unquote

import boto3
import pyarrow.fs as pafs
import pytest
from ray.train import TrainingFailedError

from layoutray import checkpoint
from layoutray.cli import sweep
from layoutray.cli.train import pretrain
from layoutray.cluster import train as on_ray
from layoutray.cluster.train import Workers
from layoutray.store import sources
from layoutray.training import job as jobs
from layoutray.training.inputs import check
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY, JsonLines, Reporter
from tests.cluster.test_train import KillOnce
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store
from tests.training.runs import History, alone, read_history

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("cluster_to_harm")]
CHOSEN = recipe("masked_lm", steps=12, evaluate_every=6, checkpoint_every=4)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, cluster_to_harm: None) -> str:
    """EXAMPLES in a bucket."""
    pafs.copy_files(encode(tmp_path_factory.mktemp("made"), CHOSEN, pages(24, 6)), "s3://scans/windows")
    return "s3://scans/windows"


def names(folder: str) -> set[str]:
    return {unquote(uri).removeprefix(f"{folder}/") for uri in sources.list_files(folder)}


def report(one: Job, *more: Reporter) -> list[Reporter]:
    return [JsonLines(sources.join(one.out, HISTORY)), *more]


def test_pretrain_and_sweep_write_to_a_bucket_and_know_what_is_finished(
    examples: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", new_store(tmp_path))
    call = [
        recipe_file(tmp_path, recipe("masked_lm", steps=4, evaluate_every=2)),
        examples,
        "--out",
        "s3://scans/checkpoint",
    ]
    assert pretrain(call) == 0
    left = {*checkpoint.FILES, jobs.FINISHED, jobs.JOB, HISTORY, "mlflow_run.json"}
    assert names("s3://scans/checkpoint") == left
    before = boto3.resource("s3").Object("scans", "checkpoint/model.safetensors").last_modified
    assert pretrain(call) == 0
    assert "s3://scans/checkpoint is finished" in capsys.readouterr().err
    assert boto3.resource("s3").Object("scans", "checkpoint/model.safetensors").last_modified == before
    swept = [
        call[0],
        examples,
        "--out",
        "s3://scans/swept",
        "--over",
        "train.learning_rate=1e-3,1e-2",
        "--init",
        "s3://scans/checkpoint",
    ]
    assert sweep.main(swept) == 0
    best = json.loads(sources.read_bytes("s3://scans/swept/best.json"))
    assert json.loads(capsys.readouterr().out) == best
    assert names(best["folder"]) == left
    assert names("s3://scans/swept") - {"best.json", "job.json", "mlflow_run.json"} == {
        f"train.learning_rate={value}/{name}" for value in (0.001, 0.01) for name in left
    }


def test_a_lost_worker_and_a_failed_run_cost_the_steps_after_the_last_state(examples: str, tmp_path: Path) -> None:
    one = Job(recipe=CHOSEN, examples=examples, out="s3://scans/recovered")
    kills = [KillOnce(step, tmp_path / f"killed-{step}") for step in (7, 10)]
    call = functools.partial(on_ray.train, check(one, 1), watching=History())
    with pytest.raises(TrainingFailedError):
        call(Workers(count=1, max_failures=0), reporters=functools.partial(report, one, *kills))
    progress = call(Workers(count=1), reporters=functools.partial(report, one, *kills))
    assert all(kill.mark.exists() for kill in kills)
    assert progress["step"] == 12
    rows = [json.loads(line) for line in sources.read_bytes(f"{one.out}/{HISTORY}").splitlines()]
    assert [row["step"] for row in rows if row["event"] == "start"] == [0, 4, 8], "it goes on from the last state"
    expected = alone(Job(recipe=CHOSEN, examples=examples, out=tmp_path / "here"))
    for name in ("loss", "dev.loss", "learning_rate"):
        assert read_history(f"{one.out}/{HISTORY}")[name] == [
            (step, pytest.approx(value, abs=1e-5)) for step, value in expected[name]
        ], f"{name}: every step once"
    assert jobs.finished(one)
    assert names(str(one.out)) == {*checkpoint.FILES, jobs.FINISHED, jobs.JOB, HISTORY}
