"""The description of a run: one screen that says what, how good, and how to repeat it."""

from pathlib import Path

import pytest

from layoutray.tracking import runs
from layoutray.tracking.opening import DataUsed
from layoutray.tracking.runs import Run
from tests.mlflow_store import new_store
from tests.tracking.test_tracking import saved

NOTE = "mlflow.note.content"
TAGS = {
    "task": "entities",
    "arch": "skimformer",
    "data": "forms",
    "words": "tesserocr",
    "init": "/data/minilm, models:/start/1",
    "command": "layoutray finetune small examples",
}
TEST = DataUsed(title="forms, tesserocr", digest="d16e57", folder="pages", context="test", counts={"pages": 12})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return runs.create_run(new_store(tmp_path), "forms", "small", {}, TAGS)


def description(run: Run) -> str:
    return run.client.get_run(run.run_id).data.tags[NOTE]


def test_it_says_what_was_trained_on_what_how_good_it_is_and_what_repeats_it(run: Run) -> None:
    measured = {"dev best/f1": 0.875, "train/loss": 0.1, "speed/tokens_per_second": 12345.6, "data/pages": 42}
    run.log_metrics(3, measured)
    run.describe()
    (_, paragraph, _) = description(run).split("\n\n")
    assert paragraph.split("  \n") == [
        "**skimformer** for task `entities` on **forms**, words from tesserocr, started from minilm, models:/start/1.",
        "Dev best: entity F1 **0.875**.",
        "Training: tokens a second **12,346**, pages **42**.",
        "Repeat it: `layoutray finetune small examples`",
    ]


def test_what_people_write_below_it_stays(run: Run) -> None:
    run.describe()
    run.client.set_tag(run.run_id, NOTE, description(run) + "\n\nThe scans of March.")
    run.log_metrics(3, {"dev best/f1": 0.5})
    run.describe()
    assert description(run).endswith("\n\nThe scans of March.")
    assert description(run).count("skimformer") == 1
    assert "0.5" in description(run)


def test_an_evaluation_is_in_the_run_its_model_and_its_data_set(run: Run, tmp_path: Path) -> None:
    run.log_checkpoint(saved(tmp_path / "checkpoint"))
    run.log_evaluation(3, {"test tesserocr/f1": 0.75}, TEST)
    kept = run.client.get_run(run.run_id)
    assert kept.data.metrics["test tesserocr/f1"] == 0.75
    (given,) = kept.inputs.dataset_inputs
    assert (given.dataset.name, [tag.value for tag in given.tags]) == ("forms, tesserocr", ["test"])
    model = run.client.get_logged_model(kept.outputs.model_outputs[0].model_id)
    (metric,) = [one for one in model.metrics if one.key == "test tesserocr/f1"]
    assert (metric.value, metric.step, metric.dataset_name, metric.dataset_digest) == (0.75, 3, TEST.title, "d16e57")
    link = (
        f"[Its model](#/experiments/{kept.info.experiment_id}/models/{model.model_id}?workflowType=machine_learning)."
    )
    assert link in description(run)
    assert description(run).replace(f" {link}", "") == model.tags[NOTE]
    assert "Test tesserocr: entity F1 **0.75**." in description(run)


def test_metrics_of_a_run_without_a_model_are_its_own(run: Run) -> None:
    run.log_evaluation(3, {"test tesserocr/f1": 0.75}, TEST)
    assert run.client.get_run(run.run_id).data.metrics == {"test tesserocr/f1": 0.75}
