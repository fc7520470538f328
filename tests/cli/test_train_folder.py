"""The verb `train` as a user types it: from a folder of files and values to a registered model."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

import layoutray
from layoutray import checkpoint
from layoutray.cli import train_folder
from layoutray.cli.main import main
from layoutray.errors import InputError
from layoutray.evaluation.cross_validation import ANSWERS
from layoutray.review import queue
from layoutray.review.store import ReviewStore
from layoutray.store.data_set import DataSet
from layoutray.tasks import document_fields_of
from tests.cluster.checkpoints import save_untrained
from tests.mlflow_store import new_store
from tests.ocr.files import pdf, typed

DOCUMENTS = 6
FAST = ["--folds", "2", "--at-once", "3", "--set", "train.steps=2", "--set", "train.warmup_steps=0"]


_PARTS = ("trained", "folds/1", "folds/2")


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder, with a start and a folder of PDF files with values."""
    folder = tmp_path_factory.mktemp("train")
    scans = folder / "our scans"
    scans.mkdir()
    rows = ["file,field,value"]
    for number in range(DOCUMENTS):
        day, total = f"{number + 1}/2/2021", f"{number + 3}.50"
        lines = [typed(f"Date {day}", x=20, y=700), typed(f"Total {total}", x=20, y=600)]
        (scans / f"{number}.pdf").write_bytes(pdf("".join(lines)))
        rows += [f"{number}.pdf,date,{day}", f"{number}.pdf,total,{total}", f"{number}.pdf,number,{number}"]
    (scans / "values.csv").write_text("\n".join(rows))
    save_untrained(folder / "tiny")
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def call(out: str, *words: str) -> list[str]:
    return ["our scans", "--out", out, "--init", "tiny", "--fields", "total, date:date", *FAST, *words]


@pytest.fixture(scope="module")
def trained(here: Path, cluster: None) -> Path:
    """The folder of a finished call."""
    assert train_folder.main(call("trained")) == 0
    return here / "trained"


@pytest.mark.ray
def test_the_model_has_the_fields_and_is_registered_under_the_name_of_the_folder(trained: Path) -> None:
    loaded = checkpoint.load(trained / "model")
    fields = document_fields_of(loaded.recipe.task)
    assert {name: (one.type, one.required) for name, one in fields.items()} == {
        "total": ("amount", True),
        "date": ("date", True),
    }
    assert loaded.recipe.train.steps == 2
    assert loaded.provenance["init"] == [str(trained.parent / "tiny")]
    client = MlflowClient()
    version = client.get_model_version_by_alias("our-scans", "candidate")
    run = client.get_run(str(version.run_id))
    assert run.info.status == "FINISHED"
    assert run.data.metrics["dev best/field_f1"] == loaded.metrics["dev.field_f1"]
    children = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
    assert {child.info.status for child in children} == {"FINISHED"}
    assert len(children) == 3


@pytest.mark.ray
def test_models_that_measure_have_not_seen_what_they_answer(trained: Path) -> None:
    (place,) = (trained / "trainings").iterdir()
    made = [json.loads((place / part / "recipe.json").read_text())["train"] for part in _PARTS]
    assert [(one["folds"], one["fold"]) for one in made] == [(0, 0), (2, 1), (2, 2)]
    answered = [json.loads((place / part / ANSWERS).read_text()) for part in _PARTS[1:]]
    assert [len(documents) for documents in answered] == [DOCUMENTS // 2] * 2


@pytest.mark.ray
def test_only_the_model_of_all_documents_keeps_its_weights(trained: Path) -> None:
    assert [file.parent.name for file in trained.glob("trainings/**/*.safetensors")] == ["trained"]


@pytest.mark.ray
def test_a_repeated_call_goes_on_and_says_the_same(
    trained: Path, capsys: pytest.CaptureFixture[str], cluster: None
) -> None:
    (trained / "model" / "recipe.json").unlink()  # killed while it was written
    before = {file: file.stat().st_mtime_ns for file in trained.glob("trainings/**/*") if file.is_file()}
    made = layoutray.train(
        "our scans",
        out="trained",
        init="tiny",
        fields="total, date:date",
        folds=2,
        at_once=3,
        overrides=["train.steps=2", "train.warmup_steps=0"],
    )
    assert {file: file.stat().st_mtime_ns for file in before} == before, "nothing is trained again"
    assert (made.checkpoint, made.model) == (str(trained / "model"), "our-scans")
    assert made.metrics["field_f1"] == checkpoint.load(trained / "model").metrics["dev.field_f1"]
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if line.startswith("step ")] == [
        "step 1 of 6: read the documents",
        "step 2 of 6: cut their pages into windows of tokens",
        "step 3 of 6: train 3 models: one of all documents, the others to measure",
        "step 4 of 6: measure: each document is answered by a model that has not seen it",
        "step 5 of 6: choose from which confidence answers need no look",
        "step 6 of 6: register the model as our-scans",
    ]
    assert "6 documents, each answered by a model that was not trained on it" in said
    assert "20 more documents would bring cannot be said from so few" in said
    versions = MlflowClient().search_model_versions("name = 'our-scans'")
    assert len(versions) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--fields", "total:money"],
            "--fields has the type 'money'; types are text, name, address, date, amount, term",
        ),
        (["--set", "train.stps=3"], "unknown recipe key train.stps"),
        (["--name", "a/b"], "--name is 'a/b'; it may have letters"),
    ],
)
def test_options_are_checked_before_anything_is_written(here: Path, words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_folder.main(call("never", *words))
    assert not (here / "never").exists()


def test_a_training_without_a_start_is_refused(here: Path) -> None:
    with pytest.raises(InputError, match="--init is none; few documents need a trained start"):
        train_folder.main(["our scans", "--out", "never", "--init", "none"])
    assert not (here / "never").exists()


def test_another_call_may_not_use_the_folder(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine/note.txt").touch()
    with pytest.raises(InputError, match=r"has content but no job\.json"):
        train_folder.main(call("mine"))
    assert [file.name for file in (here / "mine").iterdir()] == ["note.txt"]


def test_a_dry_run_names_the_reader_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *call("planned", "--dry-run")]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["plan"] == {"readers": ["values"], "model": "planned/model"}
    assert shown["recipe"]["train"]["steps"] == 2
    assert main(["train", *call("planned", "--dry-run", "--price", "0.05")]) == 0
    (reading,) = json.loads(capsys.readouterr().out)["plan"]["reading"].values()
    assert (reading["pages"], reading["pages sampled"]) == (6, 6)
    assert not (here / "planned").exists()


@pytest.mark.slow
@pytest.mark.ray
def test_values_of_a_model_are_measured_as_its_own_and_differing_answers_are_reviewed(
    here: Path, capsys: pytest.CaptureFixture[str], cluster: None
) -> None:
    shutil.copytree(here / "our scans", here / "its values")
    table = here / "its values/values.csv"
    table.write_text(table.read_text().replace("0.pdf,total,3.50", "0.pdf,total,99.99"))  # invented
    asked = ["its values", *call("taught", "--set", "from_model=big")[1:]]
    assert train_folder.main(asked) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "labels of 6 documents: 11 found (11 on page 1); not found in their document: 7" in said
    assert "1 values that stand nowhere in their document are not counted" in said
    assert "big stated the values of 6 of these 6 documents, not a person" in said
    assert "layoutray review taught/disagreements" in said
    assert {one.from_model for one in DataSet("taught/pages/1").read_documents()} == {"big"}
    store = ReviewStore.open("taught/disagreements/review.db", create=False)
    # The model may differ from other values, too.
    listed, _ = queue.listed(store, queue.Filter(state="open"), 0, 10)
    (entry,) = (one for one in listed if one.source.endswith("/0.pdf"))
    review = store.review(entry.number)
    assert review
    (wrong,) = (one for one in review.said.values() if one.stated)
    assert (wrong.text, wrong.stated and wrong.stated.text) == ("3.50", "99.99")
    store.save(entry.number, 0, [replace(one, state="confirmed") for one in review.values], done=True, reviewer="anna")
    store.close()

    words = ["its values", "taught/disagreements", *call("corrected", "--set", "from_model=big")[1:]]
    assert train_folder.main(words) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "1 pages are left out: a later folder has their documents, too" in said
    assert "big stated the values of 5 of these 6 documents" in said
    (person,) = DataSet("corrected/pages/2").read_documents()
    assert (person.doc_id, person.from_model) == (entry.doc_id, "")
    assert [(one.name, one.value) for one in person.fields if one.name == "total"] == [("total", "3.50")]
