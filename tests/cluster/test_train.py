"""Real Ray Train: the same losses as one process, and a lost worker costs time and nothing else."""

import dataclasses
import functools
import json
import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import ray.train
from ray.train import TrainingFailedError
from ray.util import placement_group_table

from layoutray import checkpoint
from layoutray.cluster import train as on_ray
from layoutray.cluster.train import StateReporter, Workers
from layoutray.errors import CheckpointError, InputError
from layoutray.tracking import metric_names, runs
from layoutray.tracking.reporter import MlflowReporter
from layoutray.tracking.runs import Run
from layoutray.training import job as jobs
from layoutray.training import resume
from layoutray.training.inputs import TrainingInputs, check
from layoutray.training.job import Job
from layoutray.training.reporter import JsonLines, Reporter
from layoutray.training.resume import TrainingProgress
from tests.cluster.two_nodes import marked
from tests.jobs import elsewhere, job, pages, recipe
from tests.mlflow_store import new_store
from tests.training.runs import History, Series, alone, read_history
from tests.training.test_finite import poison_gradient
from tests.training.test_resume import trained

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Series]:
    """A job, and what it reports where one process trains it to the end."""
    one = job(tmp_path_factory.mktemp("whole"), recipe("masked_lm", steps=12, evaluate_every=6, checkpoint_every=4))
    return one, alone(one)


def report(one: Job, tracked: Run, *more: Reporter) -> Sequence[Reporter]:
    """The leading worker's reporters, as the verbs wire them."""
    one.out.mkdir(parents=True, exist_ok=True)
    return JsonLines(one.out / "history.jsonl"), MlflowReporter(tracked), *more


@dataclass
class KillOnce:
    """Kills its own process after `step`, the first time only; slow before, so that Ray gets the last state."""

    step: int
    mark: Path

    def start(self, step: int, steps: int) -> None:
        """It is not yet time."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if self.mark.exists():
            return
        if step == self.step:
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if step == self.step - 1:
            time.sleep(5)  # Ray's controller looks for states every two seconds

    def saved(self, step: int, folder: Path | None) -> None:
        """Ray gets it."""


class Placed(History):
    """Also knows how Ray was asked to place the workers, and how many processes watched for preemption."""

    strategy = ""
    watchers = -1

    def start(self, step: int, steps: int) -> None:
        (workers,) = [group for group in placement_group_table().values() if group["state"] == "CREATED"]
        self.strategy = f"{workers['strategy']} {len(workers['bundles'])}"
        processes = psutil.Process().children(recursive=True)
        assert marked(processes, "TrainController")
        self.watchers = len(marked(processes, "PreemptionWatcher"))


def open_run(folder: Path) -> Run:
    return runs.create_run(new_store(folder), "tests", "small", {}, {})


def logged(tracked: Run, name: str) -> list[tuple[int, float]]:
    history = tracked.client.get_metric_history(tracked.run_id, metric_names.of_training(name))
    return sorted((metric.step, metric.value) for metric in history)


def close(series: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(step, pytest.approx(value, abs=1e-5)) for step, value in series]


@pytest.mark.usefixtures("cluster")
def test_two_workers_give_one_processs_losses(whole: tuple[Job, Series], tmp_path: Path) -> None:
    one, expected = elsewhere(whole[0], tmp_path / "checkpoint"), whole[1]
    tracked, watching = open_run(tmp_path), Placed()
    progress = on_ray.train(check(one, 2), Workers(count=2), functools.partial(report, one, tracked), watching)
    assert progress["step"] == 12
    assert jobs.finished(one)
    assert watching.strategy == "SPREAD 2", "over the nodes; see test_train_nodes.py"
    assert watching.watchers == 0, "on this machine there is nothing to watch for"
    for name in ("loss", "dev.loss", "learning_rate"):
        assert logged(tracked, name) == close(expected[name]), name
        assert watching.series[name] == read_history(one.out / "history.jsonl")[name], "the driver hears all"
    assert checkpoint.load(one.out).metrics["dev.perplexity"] == pytest.approx(
        checkpoint.load(whole[0].out).metrics["dev.perplexity"], rel=1e-4
    )


@pytest.mark.chaos
@pytest.mark.usefixtures("cluster_to_harm")
def test_a_killed_worker_is_replaced_and_the_run_goes_on(whole: tuple[Job, Series], tmp_path: Path) -> None:
    one, expected = elsewhere(whole[0], tmp_path / "checkpoint"), whole[1]
    tracked = open_run(tmp_path)
    kill = KillOnce(step=7, mark=tmp_path / "killed")
    progress = on_ray.train(check(one, 2), Workers(count=2), functools.partial(report, one, tracked, kill), History())
    assert kill.mark.exists()
    assert progress["step"] == 12
    rows = [json.loads(line) for line in (one.out / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if row["event"] == "start"] == [0, 4], "it went on from the state of step 4"
    assert [step for step, _ in read_history(one.out / "history.jsonl")["loss"]] == [*range(1, 13)]
    for name in ("loss", "dev.loss", "learning_rate"):
        assert logged(tracked, name) == close(expected[name]), f"{name}: every step once, as if nothing had happened"


def poisoned(one: Job) -> Sequence[Reporter]:
    """The leading worker's reporters; the gradient of its fifth step will be infinite."""

    def prepare(job: Job, workers: int) -> TrainingInputs:
        inputs = inputs_of_job(job, workers)
        poison_gradient(inputs, step=5)
        return inputs

    inputs_of_job, on_ray.prepare = on_ray.prepare, prepare
    return [JsonLines(one.out / "history.jsonl")]


def plain(one: Job) -> Sequence[Reporter]:
    return [JsonLines(one.out / "history.jsonl")]


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_training_that_diverges_on_ray_has_uploaded_the_state_that_its_error_names(
    whole: tuple[Job, Series], tmp_path: Path
) -> None:
    one, expected = elsewhere(whole[0], tmp_path / "checkpoint"), whole[1]
    one.out.mkdir()
    workers = Workers(count=1, max_failures=0)
    with pytest.raises(TrainingFailedError, match=r"norm of its gradient inf; the state of step 4 is kept"):
        on_ray.train(check(one, 1), workers, functools.partial(poisoned, one), History())
    (state,) = [file.parent for file in (one.out / "ray").rglob("progress.json")]
    assert json.loads((state / "progress.json").read_text())["step"] == 4
    on_ray.train(check(one, 1), workers, functools.partial(plain, one), History())
    rows = [json.loads(line) for line in (one.out / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if row["event"] == "start"] == [0, 4]
    assert read_history(one.out / "history.jsonl")["loss"] == close(expected["loss"])


def test_a_state_is_uploaded_as_it_was_saved_even_if_the_next_one_is_saved_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Path] = []
    monkeypatch.setattr(ray.train, "report", lambda _, *, checkpoint, **how: handed.append(Path(checkpoint.path)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for step in (2, 4):
        resume.save(tmp_path / "state", *trained(), TrainingProgress(step=step))
        StateReporter().saved(step, tmp_path / "state")
    assert [resume.load(folder, *trained(steps=0)).step for folder in handed] == [2, 4]


@pytest.mark.usefixtures("cluster")
def test_what_cannot_be_trained_is_refused_at_once(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", batch_size=4, micro_batch_size=4))
    pretrained = job(tmp_path / "other", recipe("masked_lm", steps=1), pages(3))
    alone(pretrained)
    misfit = dataclasses.replace(job(tmp_path / "misfit", recipe("entities")), init=(str(pretrained.out),))
    started = time.monotonic()
    with pytest.raises(CheckpointError, match="another vocabulary"):
        on_ray.train(check(misfit, 2), Workers(count=2), list, History())
    with pytest.raises(InputError, match="1 micro-batches per step cannot be shared by 2 workers"):
        on_ray.train(check(one, 2), Workers(count=2), list, History())
    assert time.monotonic() - started < 5, "before any worker starts"
    assert ray.is_initialized()
