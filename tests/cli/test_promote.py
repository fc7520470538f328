"""`layoutray promote` and `layoutray rollback` with a real registry."""

import json
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from layoutray import checkpoint
from layoutray.cli.main import main
from layoutray.errors import InputError
from layoutray.review import queue
from layoutray.review.store import ReviewStore
from layoutray.store.data_set import DataSet
from layoutray.tracking import registered, runs
from tests.evaluation.test_predictions import write_receipts
from tests.evaluation.test_replacement import fresh
from tests.jobs import NO_DROPOUT, job, pages, recipe
from tests.mlflow_store import new_store
from tests.training.runs import alone


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders: `receipts`, the checkpoint `good` that has learned them, and `bad`, which has not."""
    folder = tmp_path_factory.mktemp("models")
    write_receipts(folder / "receipts", pages(6))
    one = job(folder, recipe("entities", model=NO_DROPOUT, steps=150, learning_rate=5e-3), pages(6))
    alone(one)
    loaded = checkpoint.load(one.out)
    checkpoint.save(folder / "good", loaded)
    checkpoint.save(folder / "bad", fresh(loaded))
    return folder


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return new_store(tmp_path)


def register(uri: str, folder: Path) -> str:
    run = runs.create_run(uri, "tests", "run", {}, {})
    run.log_checkpoint(folder)
    return run.register("forms")


def aliases(uri: str) -> dict[str, str]:
    return {name: str(version) for name, version in MlflowClient(uri).get_registered_model("forms").aliases.items()}


def promote(uri: str, models: Path, *more: str) -> int:
    words = ["promote", "forms", "--on", str(models / "receipts"), "--split", "train", "--tracking-uri", uri]
    return main([*words, *more])


def rollback(uri: str) -> int:
    return main(["rollback", "forms", "--tracking-uri", uri])


def test_a_better_candidate_becomes_champion_and_a_rollback_undoes_it(
    uri: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert register(uri, models / "bad") == "1"
    assert aliases(uri) == {"champion": "1", "candidate": "1"}, "the first version has no rival"
    register(uri, models / "good")
    assert aliases(uri) == {"champion": "1", "candidate": "2"}
    assert promote(uri, models) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["champion"], report["candidate"], report["promoted"], report["objections"]) == ("1", "2", True, [])
    assert report["f1"]["all"]["low"] > 0.5
    assert set(report["f1"]) == {"all", "date", "total"}
    assert aliases(uri) == {"champion": "2", "candidate": "2"}
    assert rollback(uri) == 0
    assert aliases(uri) == {"champion": "1", "candidate": "2"}
    assert rollback(uri) != 0, "version 1 had no one before it"
    assert "no version of forms was champion before" in capsys.readouterr().err


def test_a_worse_candidate_is_not_promoted_and_the_reasons_are_said(
    uri: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register(uri, models / "good")
    register(uri, models / "bad")
    assert promote(uri, models, "--json", str(tmp_path / "report.json")) == 1
    assert aliases(uri) == {"champion": "1", "candidate": "2"}
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["promoted"], len(report["objections"])) == (False, 3)
    said = " ".join(capsys.readouterr().err.split())
    assert "version 2 is not promoted, version 1 stays champion" in said
    assert "total is worse" in said


def test_answers_to_canary_documents_that_differ_are_shown_before_a_version_is_promoted(
    uri: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register(uri, models / "bad")
    register(uri, models / "good")
    assert promote(uri, models, "--canaries", str(models / "receipts"), "--differences", str(tmp_path / "queue")) == 1
    assert aliases(uri)["champion"] == "1"
    shown = capsys.readouterr()
    report, table = json.loads(shown.out), " ".join(shown.err.split())
    truth = {one.value for document in DataSet(str(models / "receipts")).read_documents() for one in document.fields}
    assert any(f"{value} (0." in table for value in truth)
    assert not any(value in shown.out for value in truth)
    counts = report["canaries"]
    count = sum(counts.values()) - counts.get("same", 0)
    assert count > 0
    assert report["objections"] == [
        f"{count} answers to canary documents differ; look at them, then give --yes to promote"
    ]
    store = ReviewStore.open(str(tmp_path / "queue" / "review.db"), create=False)
    entries, documents = queue.listed(store, queue.Filter(), 0, 100)
    reviews = [store.review(entry.number) for entry in entries]
    store.close()
    assert documents == len(reviews) > 0
    assert {said.stated.by for one in reviews if one for said in one.said.values() if said.stated} == {"version 1"}

    assert promote(uri, models, "--yes") == 0, "the folder is kept with the model"
    assert json.loads(capsys.readouterr().out)["canaries"] == counts


def test_rollbacks_go_back_step_by_step(uri: str, models: Path) -> None:
    for folder in ("bad", "good", "good"):
        register(uri, models / folder)
        if aliases(uri)["candidate"] != "1":
            assert promote(uri, models) == 0
    assert [aliases(uri)["champion"], rollback(uri), aliases(uri)["champion"]] == ["3", 0, "2"]
    assert [rollback(uri), aliases(uri)["champion"]] == [0, "1"]


class Killed(BaseException):
    """Stands for the end of a process between two calls of the registry."""


@pytest.mark.parametrize("call", ["set_registered_model_tag", "set_registered_model_alias"])
@pytest.mark.parametrize("verb", ["promote", "rollback"])
def test_a_call_that_is_killed_between_tag_and_alias_leaves_a_champion_that_can_be_rolled_back(
    verb: str, call: str, uri: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        register(uri, models / "good")
    registered.promote("forms", "2", uri)
    if verb == "rollback":
        registered.promote("forms", "3", uri)
    before = aliases(uri)["champion"]

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, call, killed)
        with pytest.raises(Killed):
            registered.promote("forms", "3", uri) if verb == "promote" else registered.rollback("forms", uri)
    present = aliases(uri)["champion"]
    former = str(int(present) - 1)
    assert present in {before, str(int(before) - 1)}
    if present == "1":
        with pytest.raises(InputError, match="no version of forms was champion before"):
            registered.rollback("forms", uri)
        return
    assert registered.rollback("forms", uri) == (present, former)
    assert aliases(uri)["champion"] == former


def test_what_is_not_there_is_said(uri: str, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert promote(uri, models) != 0
    assert "cannot provide models:/forms@champion" in capsys.readouterr().err
    register(uri, models / "good")
    assert promote(uri, models) != 0
    assert "version 1 of forms is candidate and champion" in capsys.readouterr().err
