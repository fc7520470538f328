"""ROUGE of a trained writer, through the verb."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pytest

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli import evaluate
from layoutray.cli._text_scores import first_sentence_scores
from layoutray.errors import InputError
from tests.documents import document, pages, recipe, summary, with_fields, write_documents
from tests.jobs import job, vocabulary, write_pages
from tests.store.pages import page, word
from tests.training.runs import alone


def test_a_writer_that_knows_its_documents_has_full_scores(tmp_path: Path) -> None:
    wholes = [pages(number) for number in range(8)]
    # The best of several summaries counts; the first is learned.
    write_documents(tmp_path / "ingested", [document(whole, summary(whole), "nothing of it") for whole in wholes])
    one = job(tmp_path, recipe(), [page for whole in wholes for page in whole])
    alone(one)
    report = tmp_path / "report.json"
    tracking = f"sqlite:///{tmp_path}/mlflow.db"
    options = ["--split", "train", "--beams", "2", "--json", str(report), "--tracking-uri", tracking]
    assert evaluate.main([str(one.out), str(tmp_path / "ingested"), *options]) == 0
    said = json.loads(report.read_text())
    assert (
        min(
            said["metrics"][f"{kind}{side}"]
            for kind in ("rouge1", "rouge2", "rougeL")
            for side in ("", "_low", "_high")
        )
        > 0.9
    )
    assert (said["dead"], said["cut"]) == (0, 0)
    assert said["metrics"]["perplexity"] < 1.2


@pytest.fixture
def short(tmp_path: Path) -> list[str]:
    """Of `evaluate`: a checkpoint that reads and writes few tokens, and three documents for training."""
    chosen = recipe(max_length=20)
    chosen = replace(chosen, task=replace(chosen.task, writing=replace(chosen.task.writing, max_length=3)))
    checkpoint.save(
        tmp_path / "model",
        Checkpoint(chosen, (), vocabulary(), checkpoint.build_model(chosen, vocabulary(), ()), {"step": 0}, {}),
    )
    wholes = [pages(number) for number in range(3)]
    write_pages(tmp_path / "ingested", [page for whole in wholes for page in whole])
    write_documents(tmp_path / "ingested", [document(whole, summary(whole)) for whole in wholes])
    return [str(tmp_path / "model"), str(tmp_path / "ingested"), "--tracking-uri", f"sqlite:///{tmp_path}/mlflow.db"]


def test_documents_and_texts_that_are_cut_are_counted_apart(
    short: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([*short, "--split", "train"]) == 0
    shown = capsys.readouterr()
    said = json.loads(shown.out)
    assert (said["cut"], said["texts_cut"]) == (3, 3)
    assert "on train, 3 documents" in shown.err
    assert "3 documents have more tokens than max_length, 20;" in shown.err
    assert "3 target texts have more tokens than task.writing.max_length, 3;" in shown.err


def test_an_empty_split_is_told_from_those_that_have_pages(short: list[str]) -> None:
    with pytest.raises(InputError, match="pages there: 6 in train; choose another with --split"):
        evaluate.main([*short, "--split", "dev"])


def test_documents_without_summaries_are_told_from_the_reason_of_the_first(short: list[str], tmp_path: Path) -> None:
    bare = pages(5)
    write_pages(tmp_path / "bare", bare)
    write_documents(tmp_path / "bare", [with_fields(bare)])
    with pytest.raises(InputError, match=f"can be measured: {bare[0].source} has no summary"):
        evaluate.main([short[0], str(tmp_path / "bare"), "--split", "train", *short[2:]])


def test_the_first_sentence_is_scored_as_a_summary(tmp_path: Path) -> None:
    folder = tmp_path / "ingested"
    whole = [page("a", 1, word("We"), word("train.")), page("a", 2, word("They"), word("do"), word("not."))]
    write_pages(folder, whole)
    write_documents(folder, [document(whole, "we train", "they do not do that at all")])
    scores = first_sentence_scores([str(folder)], pc.field("split") == "train")
    assert (scores["rouge1"], scores["rouge2"], scores["rougeL_low"]) == (1, 1, 1)
