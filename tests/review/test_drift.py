"""A review file or a folder of answers shows whether, since when and where documents have changed."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from layoutray.cli.main import main
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.signals import Observed
from layoutray.review.answered_folder import answered_documents
from layoutray.review.documents import AnsweredDocument
from layoutray.review.drift import FIRST, drift, of_answers, of_review
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction
from tests.review.answer_folders import write_answers

USUAL, OTHER = (tuple(f"{stem}{letter}" for letter in "abcdefghij") for stem in ("paper", "karton"))


def answered(number: int, words: tuple[str, ...], version: str = "1") -> AnsweredDocument:
    rng = Random(number)
    box = Box(0.1, 0.1, 0.2, 0.1 + rng.random() / 100)
    page = Page(
        doc_id=f"d{number}",
        number=1,
        width=100,
        height=rng.randint(150, 250),
        words=tuple(Word(text=word, box=box) for word in rng.choices(words, k=rng.randint(20, 40))),
        source=f"{number:04}.png",
        image="",
        split="",
        provenance=Provenance(words="ocr", reason=""),
    )
    confidence = rng.random()
    said = Prediction(
        name="total", text="7", value="7", confidence=confidence, accepted=False, page=1, words=(), polygons=()
    )
    return AnsweredDocument(
        doc_id=page.doc_id, source=page.source, model_id="m", model_version=version, pages=(page,), said=(said,)
    )


def stream(changed: Mapping[int, tuple[str, ...]], count: int) -> list[AnsweredDocument]:
    return [answered(number, changed.get(number, USUAL)) for number in range(count)]


def test_documents_like_the_first_ones_are_no_change() -> None:
    found = drift(of_answers(stream({}, FIRST + 80)), None)
    assert (found.documents, found.alarm) == (80, None)
    assert found.evidence < 10_000


def test_a_change_is_dated_explained_and_shown() -> None:
    changed = dict.fromkeys(range(FIRST + 40, FIRST + 140, 3), OTHER)
    found = drift(of_answers(stream(changed, FIRST + 140)), None)
    assert found.alarm
    assert found.since
    first = min(changed)
    assert first < int(found.alarm.doc_id[1:]) < first + 100
    assert abs(int(found.since.doc_id[1:]) - first) <= 10
    assert "unseen words" in [one.signal for one in found.signals]
    assert {int(one.doc_id[1:]) for one in found.shown_by} <= changed.keys()


def test_the_verb_reads_the_documents_of_the_newest_version_in_a_review_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    for number in range(5):
        store.add(answered(1000 + number, OTHER, version="0"))
    changed = dict.fromkeys(range(FIRST + 20, FIRST + 60), OTHER)
    for document in stream(changed, FIRST + 60):
        store.add(document)
    store.close()
    assert main(["drift", str(tmp_path / "review.db"), "--csv", str(tmp_path / "order.csv")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["documents"] == 60
    assert report["alarm"]["doc_id"] in {f"d{number}" for number in changed}
    assert report["since"]["time"] > 0
    ranked = (tmp_path / "order.csv").read_text().splitlines()
    assert ranked[0] == "rank,doc_id,source"
    assert {row.split(",")[1] for row in ranked[1:]} == {one["doc_id"] for one in report["shown_by"]}


def test_a_page_in_memory_and_in_the_review_file_are_the_same(tmp_path: Path) -> None:
    store, document = ReviewStore.open(str(tmp_path / "review.db")), answered(1, USUAL)
    store.add(document)
    ((_, observed),) = of_review(store)
    store.close()
    assert observed == Observed.of(document.pages, [("total", document.said[0].confidence)])


def test_a_folder_of_answers_is_read_in_the_order_of_names_and_needs_documents_after_its_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, pages = write_answers(tmp_path, ["a", "b"], pages_each=2)
    assert [one.doc_id for one, _ in of_answers(answered_documents(answers, pages))] == ["id-a", "id-b"]
    assert main(["drift", answers, "--pages", pages]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "has 2 documents, and the first 100 are the reference of the others; give more" in said
