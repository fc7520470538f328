"""Finished documents as truth: from the review file and from a download, through `ingest`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli.export import label_studio
from layoutray.document.tags import OUTSIDE
from layoutray.errors import DocumentError, InputError
from layoutray.readers import load
from layoutray.review import truth
from layoutray.review.store import ReviewStore
from layoutray.review.values import Value
from tests.jobs import write_pages
from tests.review.documents import answered

READER = load("reviewed")


def finished(folder: Path, *edits: tuple[str, dict[str, object]]) -> ReviewStore:
    """A review file with a finished document, whose values of some names were edited, and one that is not finished."""
    store = ReviewStore.open(str(folder / "review.db"))
    number = store.add(answered("reviewed", folder))
    store.add(answered("not-finished", folder))
    review = store.review(number)
    assert review
    changed = [edited(value, dict(edits)) for value in review.values]
    store.save(number, 0, changed, done=True, reviewer="anna")
    return store


def edited(value: Value, edits: dict[str, dict[str, object]]) -> Value:
    return replace(value, **({"state": "confirmed"} | edits.get(value.name, {})))


def test_the_words_that_a_person_chose_are_tagged_and_no_others(tmp_path: Path) -> None:
    finished(tmp_path, ("total", {"text": "99.95"}), ("date", {"state": "removed"})).close()
    (item,) = READER.discover(str(tmp_path))
    read = READER.read(item)
    (page,) = read.pages
    assert read.document.doc_id == answered("reviewed").doc_id
    fields = {(field.name, field.value) for field in read.document.fields}
    assert ("total", "99.95") in fields
    assert "date" not in {name for name, _ in fields}
    tags = {word.tag for word in page.words}
    assert "B-total" in tags
    assert "B-date" not in tags
    rows = {field.row for field in read.document.fields if field.name == "item.name"}
    assert rows == {word.group for word in page.words if word.tag == "B-item.name"}
    assert page.image.endswith("reviewed.png")
    assert (page.provenance.words, page.provenance.engine) == ("reviewed", "rapidocr")
    assert page.provenance.reason.startswith("reviewed by anna on 20")
    assert page.provenance.reason.endswith("answered by receipts 1")


def test_corrections_are_label_studio_tasks(tmp_path: Path) -> None:
    store = finished(tmp_path, ("date", {"state": "removed"}), ("total", {"name": "grand_total"}))
    review = store.review(1)
    store.close()
    (item,) = READER.discover(str(tmp_path))
    pages = write_pages(tmp_path / "reviewed", list(READER.read(item).pages))
    assert label_studio.main([pages, str(tmp_path / "tasks")]) == 0
    ((task,), interface) = (
        json.loads((tmp_path / "tasks/tasks.json").read_text()),
        (tmp_path / "tasks/labels.xml").read_text(),
    )
    labelled = {
        (int(result["id"].partition("-")[2]), result["value"]["rectanglelabels"][0])
        for result in task["predictions"][0]["result"]
        if result["type"] == "rectanglelabels" and result["value"]["rectanglelabels"] != [OUTSIDE]
    }
    assert review
    kept = {(word, value.name) for value in review.values if value.state != "removed" for word in value.words}
    assert labelled == kept
    assert ("grand_total" in interface, "date" in interface) == (True, False)


def test_a_download_is_the_same(tmp_path: Path) -> None:
    store = finished(tmp_path)
    other = tmp_path / "download"
    other.mkdir()
    lines = "".join(json.dumps(one) + "\n" for one in truth.finished(store, None))
    (other / "reviewed.jsonl").write_text(lines)
    truths = [READER.read(item) for folder in (tmp_path, other) for item in READER.discover(str(folder))]
    assert truths[0] == truths[-1]
    (other / "reviewed.jsonl").write_text('{"doc_id": "d"}\n')
    with pytest.raises(DocumentError, match="is not a finished document"):
        list(READER.discover(str(other)))


def test_unfinished_documents_and_those_with_values_that_nobody_looked_at_are_no_truth(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    store.add(answered("open", tmp_path))
    of_earlier_version = store.add(answered("unseen", tmp_path))
    with store.database.transaction() as database:
        database.exec_driver_sql("UPDATE documents SET state = 'done' WHERE number = ?", (of_earlier_version,))
    with pytest.raises(InputError, match="that a person has finished"):
        list(READER.discover(str(tmp_path)))
