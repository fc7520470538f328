"""The verbs one after another, as a user types them: from pages that nobody has read to answers and a tracked run."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient
from PIL import Image

from layoutray import checkpoint
from layoutray.cli import encode, evaluate, ingest, predict, synthesize
from layoutray.cli.train import finetune, pretrain
from layoutray.tracking import runs, stores
from layoutray.tracking.runs import Run
from tests.mlflow_store import new_store

pytestmark = [pytest.mark.ray, pytest.mark.ocr]
TINY = ["--set", "model={arch = 'skimformer', size = 'tiny'}"]
INGEST = ["--set", "dev_share=0.25", "--set", "test_share=0.25", "--set", "recognition.profile=fast"]
ENTITIES = ["--set", "task={name = 'entities'}"]
WINDOWS = [*TINY, "--set", "tokenizer.vocab_size=300"]
LABELLED = [*TINY, *ENTITIES, "--set", "tokenizer.path=pretrained"]
SMALL = [*TINY, "--set", "train.batch_size=4", "--set", "train.micro_batch_size=2", "--set", "train.warmup_steps=2"]
PRETRAIN = [
    "pretrain-tiny",
    "windows",
    "--out",
    "pretrained",
    *SMALL,
    "--set",
    "train.steps=6",
    "--set",
    "train.evaluate_every=3",
]
FINETUNE = ["finetune-fields", "labelled", "--init", "pretrained", "--out", "tuned", *SMALL, *ENTITIES]
FINETUNE += ["--set", "train.steps=4"]


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory, cluster: None) -> Iterator[Path]:
    """A folder with everything that the verbs make of ten drawn pages, also the working folder."""
    folder = tmp_path_factory.mktemp("chain")
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        assert synthesize.main(["drawn", "--count", "10", "--seed", "3"]) == 0
        assert ingest.main(["ingest-synthetic", "drawn", "pages", *INGEST]) == 0
        assert encode.main(["pretrain-tiny", "pages", "--out", "windows", *WINDOWS]) == 0
        assert pretrain(PRETRAIN) == 0
        assert encode.main(["finetune-fields", "pages", "--out", "labelled", *LABELLED]) == 0
        assert finetune([*FINETUNE, "--workers", "1", "--register", "forms"]) == 0
        assert evaluate.main(["tuned", "pages", "--split", "test", "--json", "report.json"]) == 0
        yield folder


def run_of(checkpoint: str) -> Run:
    run = runs.noted(Path(checkpoint), stores.default_uri())
    assert run is not None
    return run


def pictures(run: Run) -> set[str]:
    return {file.path for file in run.client.list_artifacts(run.run_id, "pictures")}


def test_no_page_is_lost(here: Path) -> None:
    manifest = json.loads((here / "pages/manifest.json").read_text())
    assert (manifest["pages_in"], manifest["pages_out"], manifest["pages_dead"]) == (10, 10, 0)
    assert set(manifest["splits"]) == {"train", "dev", "test"}


def test_a_dry_run_of_ingest_tells_the_time_and_the_cost_from_a_sample_and_writes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["ingest-synthetic", "drawn", "planned", *INGEST, "--dry-run", "--sample", "2", "--workers", "4", "--price"]
    assert ingest.main([*call, "3600"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert (plan["pages"], plan["pages to do"], plan["estimate"]["pages sampled"]) == (10, 10, 2)
    seconds, cost = plan["estimate"]["seconds a page"], float(plan["estimate"]["cost"].split()[0])
    assert cost == pytest.approx(10 * seconds, rel=0.02)
    assert not (here / "planned").exists()
    assert ingest.main(["ingest-synthetic", "drawn", "pages", "--dry-run", *INGEST]) == 0
    assert json.loads(capsys.readouterr().out)["plan"].items() >= {"pages to do": 0}.items()


def test_the_run_has_curves_scores_and_pictures(here: Path) -> None:
    run = run_of("tuned")
    kept = run.client.get_run(run.run_id)
    assert kept.info.status == "FINISHED"
    assert kept.data.params["train.steps"] == "4"
    assert [metric.step for metric in run.client.get_metric_history(run.run_id, "train/loss")] == [1, 2, 3, 4]
    reported = json.loads((here / "report.json").read_text())["metrics"]
    shown = {name.rpartition("/")[2]: value for name, value in kept.data.metrics.items() if name.startswith("test ")}
    assert shown == reported
    assert kept.data.metrics["test rapidocr/f1"] == reported["f1"], "the name says who has read the words"
    model = run.client.get_logged_model(kept.outputs.model_outputs[0].model_id)
    measured = {metric.dataset_name for metric in model.metrics if metric.key.startswith("test ")}
    assert measured == {"drawn, rapidocr"}
    contexts = {tag.value for given in kept.inputs.dataset_inputs for tag in given.tags}
    assert contexts == {"training", "test"}
    assert {"f1", "precision", "recall", "support"} <= reported.keys()
    expected = ("confusion_test", "reliability_test", "overlay_test_1")
    assert {f"pictures/{name}.png" for name in expected} <= pictures(run)
    with Image.open(run.client.download_artifacts(run.run_id, "pictures/overlay_test_1.png")) as overlay:
        assert overlay.height > 500


def test_entities_that_recognition_lost_are_misses(here: Path) -> None:
    (here / "copy").mkdir()
    for name in checkpoint.FILES:  # without the note of its run, whose metrics stay as they are
        shutil.copy(here / "tuned" / name, here / "copy" / name)
    shares = ["--set", "dev_share=0.25", "--set", "test_share=0.25"]
    assert ingest.main(["ingest-synthetic", "drawn", "annotated", "--set", "words=annotation", *shares]) == 0
    assert evaluate.main(["copy", "pages", "--split", "test", "--truth", "annotated", "--json", "honest.json"]) == 0
    honest, plain = (json.loads((here / f"{name}.json").read_text())["metrics"] for name in ("honest", "report"))
    assert honest.items() >= plain.items()
    found = plain["recall"] * plain["support"]
    assert honest["recall_with_lost"] == pytest.approx(found / (plain["support"] + honest["lost_entities"]))
    assert (
        evaluate.main(["copy", "annotated", "--split", "test", "--truth", "annotated", "--json", "nothing-lost.json"])
        == 0
    )
    nothing_lost = json.loads((here / "nothing-lost.json").read_text())["metrics"]
    assert (nothing_lost["lost_entities"], nothing_lost["f1_with_lost"]) == (0, pytest.approx(nothing_lost["f1"]))


def test_a_pretrained_model_is_measured_by_its_perplexity(here: Path) -> None:
    assert evaluate.main(["pretrained", "pages", "--split", "dev", "--json", "pretrained.json"]) == 0
    report = json.loads((here / "pretrained.json").read_text())["metrics"]
    assert report["perplexity"] > 1


def test_the_registered_model_answers_every_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert predict.main(["models:/forms@champion", "pages", "--out", "answers"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["answered"], done["failed"]) == (10, 0)


def test_files_are_read_and_answered_by_the_stated_number_of_workers(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = ["--recipe", "ingest-synthetic", "--set", "words=annotation"]
    assert predict.main(["tuned", "drawn", "--out", "answers-of-files", *read, "--workers", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["answered"] == 10
    assert json.loads((here / "answers-of-files/ingested/manifest.json").read_text())["run"]["workers"] == 2
    assert json.loads((here / "answers-of-files/answers.json").read_text())["run"]["replicas"] == 2


def test_the_vocabulary_of_a_registered_model_is_that_of_its_version(here: Path) -> None:
    vocabulary = ["--set", "tokenizer.path=models:/forms@champion"]
    assert encode.main(["finetune-fields", "pages", "--out", "again", *TINY, *ENTITIES, *vocabulary]) == 0
    made, registered = ((here / folder / "tokenizer.json").read_text() for folder in ("again", "tuned"))
    assert made == registered
    assert json.loads((here / "again/job.json").read_text())["tokenizer"]["path"] == "models:/forms/1"


def test_a_finished_training_is_left_alone(here: Path) -> None:
    before = (here / "pretrained/model.safetensors").stat().st_mtime_ns
    assert pretrain(PRETRAIN) == 0
    assert (here / "pretrained/model.safetensors").stat().st_mtime_ns == before


def test_a_training_whose_run_was_left_open_is_closed_by_the_next_call(here: Path) -> None:
    run = run_of("pretrained")
    run.reopen()
    assert pretrain([*PRETRAIN, "--register", "late"]) == 0
    assert run.finished
    (version,) = MlflowClient(tracking_uri=stores.default_uri()).search_model_versions("name='late'")
    assert version.run_id == run.run_id
