"""Results of all services, from the folder to tags, and damaged in every place."""

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.encode import Encoder, labels_for
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import make_word_source, open_document, recognise_page
from layoutray.readers import load
from layoutray.recipe.ingest import load_ingest
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import PAGES
from layoutray.tasks.entities import Entities
from tests.jobs import vocabulary
from tests.readers.native import only, put, put_picture
from tests.readers.results.files import Json, azure, documentai, lines_of, textract

WRITERS: dict[str, Callable[..., Json]] = {"textract": textract, "azure": azure, "documentai": documentai}
SCHEMA = {"total": FieldType(type="amount"), "date": FieldType(type="date"), "shop": FieldType(type="name")}


def ingested(reader: str, root: Path, out: Path) -> tuple[DataSet, list[DeadLetter]]:
    """The data set that an ingest of `root` by the shipped recipe writes, in this process, and its dead letters."""
    recipe = load_ingest(f"ingest-{reader}", ["dev_share=0.0"])
    found = find_documents(str(root), recipe)
    with make_word_source(recipe.reader, recipe.words, recipe.recognition) as words:
        opened = [open_document(words, reference) for reference in found.references]
        plan = make_plan(opened, recipe, set_splits=found.splits)
        results = [recognise_page(words, task) for task in plan.page_tasks]
    pages = [page for page in results if isinstance(page, Page)]
    data_set = DataSet(str(out))
    shards.write(codec.pages_table(pages, [task.page_id for task in plan.page_tasks]), data_set.pages, "part-a.parquet")
    shards.write(codec.documents_table(plan.documents), data_set.documents, "part-a.parquet")
    return data_set, [*plan.letters, *(letter for letter in results if isinstance(letter, DeadLetter))]


@pytest.mark.parametrize("reader", WRITERS)
def test_fields_tag_the_words_of_a_result_and_a_damaged_one_is_one_dead_letter(tmp_path: Path, reader: str) -> None:
    root, write = tmp_path / "results", WRITERS[reader]
    put(root / "one.json", write(lines_of("Corner Shop Ltd", "Date 03/02/2021"), lines_of("Total RM 12.50")))
    put(root / "one.fields.json", {"total": "12.50", "date": "3 February 2021", "shop": ["CORNER SHOP LTD"]})
    put(root / "two.json", write(lines_of("Total 7.00")))
    put(root / "two.fields.json", {"total": "7.00"})
    put_picture(root / "two.png", 300, 400)
    put(root / "wrong.json", "{")
    data_set, letters = ingested(reader, root, tmp_path / "ingested")
    (letter,) = letters
    assert (letter.reason, letter.source.rpartition("/")[2]) == (Reason.BAD_ANNOTATION, "wrong.json")
    sizes = {page.source.rpartition("/")[2]: (page.width, page.height) for page in data_set.read_pages()}
    assert sizes.keys() == {"one.json", "two.png"}
    assert sizes["two.png"] == (300, 400)
    task = Entities(fields=SCHEMA)
    encoder = Encoder(
        task=task,
        max_length=48,
        labels=labels_for(task, [data_set]),
        vocabulary=vocabulary().inner.to_str(),
        data_sets=(data_set,),
    )
    examples, dead = encoder(shards.read(data_set.pages, PAGES))
    assert dead == []
    labels = {
        (len(row["doc_id"]), row["page"], tuple(encoder.labels[label] for label in row["labels"] if label >= 0))
        for row in examples.to_pylist()
    }
    assert labels == {
        (64, 1, ("B-shop", "I-shop", "I-shop", "O", "B-date")),
        (64, 2, ("O", "O", "B-total")),
        (64, 1, ("O", "B-total")),
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each value within a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


WRONG = [None, True, -1, float("inf"), 10**400, "x", [], [1], {"a": None}]


@pytest.mark.parametrize("reader", WRITERS)
def test_a_result_that_is_damaged_anywhere_is_read_or_refused(tmp_path: Path, reader: str) -> None:
    whole = WRITERS[reader](lines_of("ab c"))
    reasons: Counter[Reason | None] = Counter()
    for path in places(whole)[1:]:
        for value in WRONG:
            put(tmp_path / "a.json", changed(whole, path, value))
            reasons[reason_of_failure(reader, tmp_path)] += 1
    assert set(reasons) <= {None, Reason.BAD_ANNOTATION, Reason.BAD_BOX}
    assert min(reasons[None], reasons[Reason.BAD_ANNOTATION]) > 100


def changed(whole: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a JSON value with another value at `path`."""
    if not path:
        return value
    copied = copy.copy(whole)
    copied[path[0]] = changed(whole[path[0]], path[1:], value)
    return copied


def reason_of_failure(reader: str, folder: Path) -> Reason | None:
    """Why the only result of a folder cannot be read; None when it can."""
    try:
        truth = only(load(reader), folder)
    except DocumentError as error:
        return error.reason
    assert truth.pages or truth.failures
    return next((error.reason for error in truth.failures.values()), None)
