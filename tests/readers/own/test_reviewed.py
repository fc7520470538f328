"""Finished documents as truth: from the review file and from a download, through `ingest`."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutray.cli.export import label_studio
from layoutray.document import Field
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, unknown_but_not
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.evaluation.fields import labelled_documents
from layoutray.evaluation.page_selection import PageSelection
from layoutray.prepare.field_truth import count_partial
from layoutray.prepare.infer_fields import infer_fields
from layoutray.readers import Truth, load
from layoutray.review import truth
from layoutray.review.store import ReviewStore
from layoutray.review.values import Value
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from tests.jobs import write_pages
from tests.readers.native import only
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
    lines = "".join(json.dumps(one) + "\n" for one in truth.reviewed(store, None))
    (other / "reviewed.jsonl").write_text(lines)
    reader = load("reviewed", pictures=[str(tmp_path)])
    truths = [reader.read(item) for folder in (tmp_path, other) for item in reader.discover(str(folder))]
    assert truths[0] == truths[-1]
    (other / "reviewed.jsonl").write_text('{"doc_id": "d"}\n')
    with pytest.raises(DocumentError, match="is not a reviewed document"):
        list(READER.discover(str(other)))


def test_unfinished_documents_and_those_with_values_that_nobody_looked_at_are_no_truth(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    store.add(answered("open", tmp_path))
    of_earlier_version = store.add(answered("unseen", tmp_path))
    with store.database.transaction() as database:
        database.exec_driver_sql("UPDATE documents SET state = 'done' WHERE number = ?", (of_earlier_version,))
    with pytest.raises(InputError, match="that a person has finished"):
        list(READER.discover(str(tmp_path)))


def test_answers_to_several_versions_are_learnt_together(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))

    def answer(version: str, reviewer: str, **states: str) -> None:
        number = store.add(answered("versions", tmp_path / version, model_version=version))
        review = store.review(number)
        assert review
        values = [
            replace(one, state=states.get(one.name, "open"), text=one.text if states.get(one.name) != "removed" else "")
            for one in review.values
            if not one.row
        ]
        store.save(number, 0, values, done=False, reviewer=reviewer)

    for version in "123":
        (tmp_path / version).mkdir()
    answer("1", "anna", total="confirmed", date="removed", company="removed")
    answer("2", "bert", company="confirmed")
    answer("3", "anna", address="rejected")
    (line,) = truth.reviewed(store, None)
    store.close()
    assert {value["name"] for value in line["values"]} == {"total", "company"}
    assert {one["name"] for one in line["ruled_out"]} == {"date"}
    assert (line["model"], line["reviewers"], line["partial"]) == ("receipts 2", ["bert", "anna"], True)


def downloaded(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A folder with a `reviewed.jsonl`, after `change` of its line; `page` of the line is its page, as a dict."""
    store = finished(folder)
    (line,) = truth.reviewed(store, None)
    store.close()
    line["page"] = json.loads(line["pages"][0])
    change(line)
    line["pages"] = [json.dumps(line.pop("page"))]
    other = folder / "download"
    other.mkdir()
    (other / "reviewed.jsonl").write_text(json.dumps(line) + "\n")
    return other


@pytest.mark.parametrize("doc_id", ["../../outside", "/etc/x", "a/b", ".hidden", "a\0", "x" * 129, "a\n"])
@pytest.mark.parametrize("place", ["line", "page", "both"])
def test_an_id_that_leads_out_of_a_folder_is_refused(tmp_path: Path, doc_id: str, place: str) -> None:
    def change(line: dict[str, Any]) -> None:
        for one in {"line": [line], "page": [line["page"]], "both": [line, line["page"]]}[place]:
            one["doc_id"] = doc_id

    (item,) = READER.discover(str(downloaded(tmp_path, change)))
    with pytest.raises(DocumentError) as caught:
        READER.read(item)
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_pictures_are_used_below_the_folders_that_the_user_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = downloaded(tmp_path, lambda line: None)
    named = load("reviewed", pictures=[str(tmp_path)])
    assert only(named, other).pages[0].image == str(tmp_path / "reviewed.png")
    with caplog.at_level(logging.WARNING):
        assert only(READER, other).pages[0].image == ""
    assert "`pictures`" in caplog.text
    images = ["/etc/passwd", f"{other}/../reviewed.png", f"{other}-else/a.png", "file:///etc/passwd", "s3://b/c"]
    for image in images:
        line = json.loads((other / "reviewed.jsonl").read_text())
        line["pages"] = [json.dumps(json.loads(line["pages"][0]) | {"image": image})]
        (other / "reviewed.jsonl").write_text(json.dumps(line))
        (item,) = READER.discover(str(other))
        assert (item.image, READER.read(item).pages[0].image) == ("", "")


def answered_in_part(folder: Path, *edits: tuple[str, dict[str, object]], done: bool = False) -> Truth:
    """What the reader makes of a document of which only the values of these names were answered."""
    store = ReviewStore.open(str(folder / "review.db"))
    made = answered("partial", folder)
    number = store.add(replace(made, said=tuple(replace(one, accepted=True) for one in made.said)))
    review = store.review(number)
    assert review
    states = dict(edits)
    values = [replace(one, **states.get(one.name, {})) for one in review.values]
    store.save(number, 0, values, done=done, reviewer="anna")
    store.close()
    return only(READER, folder)


@pytest.mark.parametrize("done", [False, True])
def test_only_the_answered_values_of_other_documents_are_truth(tmp_path: Path, done: bool) -> None:
    found = answered_in_part(tmp_path, ("total", {"state": "confirmed"}), ("company", {"state": "removed"}), done=done)
    said = {one.name: one for one in answered("partial").said if not one.row}
    assert found.document.partial
    assert [(field.name, field.value) for field in found.document.fields] == [("total", said["total"].text)]
    tags = [word.tag for word in found.pages[0].words]
    assert tags[said["total"].words[0]] == "B-total"
    assert {tags[word] for word in said["company"].words} == {unknown_but_not(["company"])}
    others = {*range(len(tags))}.difference(said["total"].words, said["company"].words)
    assert {tags[word] for word in others} == {"?"}, "nobody has looked at them"


def test_a_rejected_value_teaches_nothing_and_one_placed_elsewhere_its_new_words(tmp_path: Path) -> None:
    edits = ("date", {"state": "rejected"}), ("total", {"state": "confirmed", "words": (0,), "text": "x"})
    found = answered_in_part(tmp_path, *edits)
    tags = [word.tag for word in found.pages[0].words]
    assert [(field.name, field.value) for field in found.document.fields] == [("total", "x")]
    assert (tags[0], {*tags[1:]}) == ("B-total", {"?"}), "parts of the rejected value may be right"


def test_documents_in_part_are_counted_and_not_measured(tmp_path: Path) -> None:
    found = answered_in_part(tmp_path, ("total", {"state": "confirmed"}))
    data_set = DataSet(write_pages(tmp_path / "pages", [replace(page, split="train") for page in found.pages]))
    whole = [replace(found.document, split="train", doc_id=f"whole-{number}", partial=False) for number in range(5)]
    documents = [replace(found.document, split="train"), *whole]
    shards.write(codec.documents_table(documents), data_set.documents, "part.parquet")
    schema = {"total": FieldType(type="amount"), "date": FieldType(type="date")}
    assert list(labelled_documents(PageSelection((data_set.folder,), "train"), schema)) == [one.doc_id for one in whole]
    assert count_partial([data_set], schema) == (1, 1)
    nothing = replace(found.document, fields=(Field("date", "1/2/2024"),))
    assert infer_fields([*whole, nothing], {}).types["total"].required
