"""The verb `sweep` as a user types it: trials on a real Ray, runs in a real MLflow store."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from layoutray import checkpoint, config
from layoutray.cli import sweep
from layoutray.cli.main import main
from layoutray.cli.shared import trials
from layoutray.cli.shared.trials import Result, Trial
from layoutray.cli.work import sweep as work
from layoutray.cli.work.sweep import Value
from layoutray.errors import CheckpointError, InputError, RecipeError
from layoutray.store import sources
from layoutray.tracking import stores
from layoutray.training import job as jobs
from layoutray.training.job import Job
from tests.jobs import MODEL, encode, pages, recipe
from tests.mlflow_store import new_store

KEY = "train.learning_rate"
RECIPE = f"""
name = "small"
max_length = 48
task.name = "masked_lm"
tokenizer.vocab_size = 120
train = {{ steps = 4, evaluate_every = 2, batch_size = 8, micro_batch_size = 4 }}
model = {{ {", ".join(f"{key} = {json.dumps(value)}" for key, value in MODEL.items())} }}
"""


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a recipe and its examples, also the working folder."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "small.toml").write_text(RECIPE)
    encode(folder, recipe("masked_lm"), pages(24, 6))
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


@pytest.fixture(scope="module")
def swept(here: Path, cluster: None) -> Path:
    """The folder of a sweep over two learning rates, of which one learns nothing."""
    assert sweep.main([*call("swept", f"{KEY}=0.0,1e-2"), "--register", "chosen"]) == 0
    return here / "swept"


def call(out: str, *over: str) -> list[str]:
    return [
        "small.toml",
        "examples",
        "--out",
        out,
        "--experiment",
        out,
        *(word for one in over for word in ("--over", one)),
    ]


def runs_of(experiment: str) -> tuple[Run, dict[str, Run]]:
    """The run of a sweep, and the runs of its trials by value."""
    client = MlflowClient(tracking_uri=stores.default_uri())
    found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    (parent,) = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    runs = {run.data.params[KEY]: run for run in found if run is not parent}
    assert len(runs) == len(found) - 1
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    return parent, runs


def artifacts(run: Run, folder: str = "") -> set[str]:
    return {
        file.path for file in MlflowClient(tracking_uri=stores.default_uri()).list_artifacts(run.info.run_id, folder)
    }


@pytest.mark.ray
@pytest.mark.slow
def test_every_value_has_a_run_like_that_of_a_single_training(swept: Path) -> None:
    _, runs = runs_of("swept")
    assert set(runs) == {"0.0", "0.01"}
    client = MlflowClient(tracking_uri=stores.default_uri())
    for value, run in runs.items():
        assert (run.info.status, run.info.run_name) == ("FINISHED", f"small {KEY}={value}")
        assert run.data.params["train.steps"] == "4"
        assert [metric.step for metric in client.get_metric_history(run.info.run_id, "train/loss")] == [1, 2, 3, 4]
        assert [metric.step for metric in client.get_metric_history(run.info.run_id, "dev/perplexity")] == [2, 4]
        (output,) = run.outputs.model_outputs
        model = client.get_logged_model(output.model_id)
        assert {"model.safetensors", "recipe.json"} <= {
            file.name for file in sources.local_path(model.artifact_location).iterdir()
        }
        assert run.inputs.dataset_inputs
        loaded = checkpoint.load(swept / f"{KEY}={value}")
        assert loaded.recipe.train.learning_rate == float(value)


@pytest.mark.ray
@pytest.mark.slow
def test_the_sweep_has_a_run_with_its_table_and_picture(swept: Path) -> None:
    parent, runs = runs_of("swept")
    best = min(run.data.metrics["dev best/perplexity"] for run in runs.values())
    assert parent.data.metrics["dev best/perplexity"] == best
    assert (parent.info.status, parent.data.params[KEY], parent.data.params["train.steps"]) == ("FINISHED", "*", "4")
    assert artifacts(parent) == {"trials.csv", "pictures", "images"}
    assert artifacts(parent, "pictures") == {"pictures/metric_by_value.png"}
    table = MlflowClient(tracking_uri=stores.default_uri()).download_artifacts(parent.info.run_id, "trials.csv")
    first, second = csv.DictReader(Path(table).read_text().splitlines())
    assert (first[KEY], first["status"], second[KEY], second["status"]) == ("0.01", "trained", "0.0", "trained")
    assert float(first["dev.perplexity"]) < float(second["dev.perplexity"])
    assert float(first["seconds"]) > 0


@pytest.mark.ray
@pytest.mark.slow
def test_the_best_value_is_written_down_and_registered(swept: Path) -> None:
    folder = swept / f"{KEY}=0.01"
    best = json.loads((swept / "best.json").read_text())
    measured = checkpoint.load(folder).metrics["dev.perplexity"]
    assert best == {"key": KEY, "value": 0.01, "objective": "dev.perplexity", "metric": measured, "folder": str(folder)}
    version = MlflowClient(tracking_uri=stores.default_uri()).get_model_version_by_alias("chosen", "champion")
    assert version.run_id == runs_of("swept")[1]["0.01"].info.run_id


@pytest.mark.ray
@pytest.mark.slow
def test_a_second_call_trains_only_what_is_new(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.stat().st_mtime_ns for file in swept.glob("*=*/*")}
    assert sweep.main([*call("swept", f"{KEY}=0.0,1e-2"), "--register", "chosen"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.01
    assert len(runs_of("swept")[1]) == 2
    assert len(MlflowClient(tracking_uri=stores.default_uri()).search_model_versions("name='chosen'")) == 1
    assert sweep.main(call("swept", f"{KEY}=0.0,1e-2,1e-3")) == 0
    assert set(runs_of("swept")[1]) == {"0.0", "0.01", "0.001"}
    assert {file: file.stat().st_mtime_ns for file in before} == before


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_where_every_trial_fails_each_reason_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = here / "broken"
    encode(broken, recipe("masked_lm"), pages(24, 6))
    for shard in broken.glob("examples/*/part.arrow"):
        shard.write_bytes(b"no examples")
    words = ["small.toml", "broken/examples", "--out", "failed", "--experiment", "failed", "--over", f"{KEY}=1e-2,1e-3"]
    assert main(["sweep", *words]) == 1
    said = capsys.readouterr().err
    assert "error: all trials have failed" in said
    assert f"{KEY}=0.01: " in said
    assert f"{KEY}=0.001: " in said
    parent, runs = runs_of("failed")
    assert {run.info.status for run in (parent, *runs.values())} == {"FAILED"}
    assert all("error.txt" in artifacts(run) for run in runs.values())
    assert not (here / "failed/best.json").exists()


def tried(value: Value, metric: float | None, task: str = "entities") -> tuple[Value, Result]:
    return value, Result(
        Trial(Job(recipe=recipe(task), examples="", out=Path()), ()),
        metric,
        error="" if metric is not None else "failed",
    )


def test_the_best_comes_first_and_among_equals_the_smaller_value() -> None:
    ended = [tried(512, 0.5), tried(64, None), tried(256, 0.75), tried(128, 0.75), tried(32, 0.25)]
    assert [value for value, _ in work.best_first(ended)] == [128, 256, 512, 32, 64]
    small = [tried(1e-3, 20.0, "masked_lm"), tried(1e-4, None, "masked_lm"), tried(1e-2, 10.0, "masked_lm")]
    assert [value for value, _ in work.best_first(small)] == [1e-2, 1e-3, 1e-4], "a small perplexity is good"


@pytest.mark.parametrize("best", [math.nan, math.inf, "NaN", "Infinity"])
def test_a_training_of_an_earlier_version_that_has_diverged_has_no_metric(best: float | str, tmp_path: Path) -> None:
    (tmp_path / jobs.FINISHED).write_text(json.dumps({"step": 4, "best": best}))
    result = trials.finished(Trial(Job(recipe=recipe("masked_lm"), examples="", out=tmp_path), ()))
    assert (result.metric, result.error) == (None, f"dev.perplexity is {float(best)}: the training has diverged")


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        (["train.steps"], InputError, "must look like KEY=VALUE,VALUE"),
        (["=4,8"], InputError, "must look like KEY=VALUE,VALUE"),
        (["train.steps=4"], InputError, "has one value; give two or more"),
        (["train.steps=4,8,4"], InputError, "repeats 4; give each value once"),
        ([f"{KEY}=1e-3,0.001"], InputError, r"repeats 0\.001"),
        (["train={steps=4},{steps=8}"], InputError, r"has the value \{'steps': 4\}"),
        (["train.steps=4,8", "seed=1,2"], InputError, "--over is given 2 times; a sweep varies one key"),
        (["train.stebs=4,8"], RecipeError, r"unknown recipe key train\.stebs \(did you mean steps\?\)"),
        (["train.steps=4,many"], RecipeError, r"recipe key train\.steps: .* got 'many'"),
    ],
)
def test_what_is_no_sweep_is_refused_before_anything_is_made(
    over: list[str], error: type[Exception], message: str, here: Path
) -> None:
    with pytest.raises(error, match=message):
        sweep.main(call("refused", *over))
    assert not (here / "refused").exists()


def test_examples_without_dev_are_refused(here: Path) -> None:
    encode(here / "no-dev", recipe("masked_lm"), pages(8))
    words = ["small.toml", "no-dev/examples", "--out", "refused", "--over", "seed=1,2"]
    with pytest.raises(InputError, match="no-dev/examples has no dev examples to compare trials on"):
        sweep.main(words)
    assert not (here / "refused").exists()


def test_a_dry_run_says_what_would_be_trained(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep.main([*call("planned", "seed=1,2"), "--cpus", "2", "--dry-run"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["checkpoints"] == [str(here / "planned/seed=1"), str(here / "planned/seed=2")]
    assert plan["cpus"] == 2
    assert not (here / "planned").exists()


def test_booleans_and_texts_are_tried_as_what_they_are(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep.main([*call("bools", "train.compile=true,false"), "--dry-run"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["recipe"]["train"]["compile"] is True
    names = [Path(folder).name for folder in shown["plan"]["checkpoints"]]
    assert names == ["train.compile=true", "train.compile=false"]
    for value in (True, False, 3, 0.01, 1e-05, "fp32", "12", "true", "two words"):
        override = config.override({}, [work.assignment("key", value)])
        assert (override["key"], type(override["key"])) == (value, type(value))


def test_the_folder_of_something_else_is_left_alone(here: Path) -> None:
    for name, content in (("single", {"recipe": {}}), ("other", {"over": "seed"})):
        (here / name).mkdir()
        (here / name / jobs.JOB).write_text(json.dumps(content))
        with pytest.raises(CheckpointError, match="holds another training, or a sweep over another key"):
            sweep.main(call(name, f"{KEY}=1e-2,1e-3"))
