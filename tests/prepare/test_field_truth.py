"""Pages are tagged from the values of their documents, whichever pages come together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from layoutray.document import Box, Document, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError, SchemaError
from layoutray.prepare.encode import Encoder, labels_for
from layoutray.prepare.field_truth import count_values, tagged_pages
from layoutray.readers.annotation import ANNOTATED
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from tests.jobs import vocabulary

SCHEMA = {"party": FieldType(type="name", many=True)}


def page(doc_id: str, number: int, text: str) -> Page:
    words = tuple(Word(text=word, box=Box(0, 0, 1, 1)) for word in text.split())
    return Page(
        doc_id=doc_id,
        number=number,
        width=100,
        height=100,
        words=words,
        source=doc_id,
        image="",
        split="train",
        provenance=ANNOTATED,
    )


ONE, TWO, OTHER = page("a", 1, "by ACMEHOLDlNG and"), page("a", 2, "ACME Holding"), page("b", 1, "ACME Holding")


@pytest.fixture
def data_set(tmp_path: Path) -> DataSet:
    made, written = [ONE, TWO, OTHER], DataSet(str(tmp_path))
    for number, part in enumerate((made[:1], made[1:])):
        table = codec.pages_table(part, [f"{one.doc_id}{one.number}" for one in part])
        shards.write(table, written.pages, f"part-{number}.parquet")
    documents = [
        Document(doc_id="a", source="a", split="train", num_pages=2, fields=(Field("party", "Acme Holding"),)),
        Document(doc_id="b", source="b", split="train", num_pages=1),
    ]
    shards.write(codec.documents_table(documents), written.documents, "part.parquet")
    return written


def tags(pages: Sequence[Page]) -> list[list[str | None]]:
    return [[word.tag for word in one.words] for one in pages]


def test_a_document_is_tagged_as_a_whole_whichever_pages_come_together(data_set: DataSet) -> None:
    tagged = tagged_pages([ONE, TWO, OTHER], [data_set], SCHEMA)
    whole = tagged.pages
    assert (tagged.letters, tagged.failures) == ([], {})
    # The misread name is only similar, and the right one stands on the other page.
    assert tags(whole) == [["O", "O", "O"], ["B-party", "I-party"], [None, None]]
    assert [tagged_pages([one], [data_set], SCHEMA).pages[0] for one in (ONE, TWO, OTHER)] == whole
    assert [replace(one, words=ONE.words) for one in whole[:1]] == [ONE], "nothing else changes"


def test_encoded_pages_have_the_fields_as_labels_and_those_without_truth_are_dead_letters(data_set: DataSet) -> None:
    task = EntitiesBioes(fields=SCHEMA)
    labels = labels_for(task, [data_set])
    assert labels == ("O", "B-party", "I-party", "E-party", "S-party")
    encoder = Encoder(
        task=task, max_length=24, labels=labels, vocabulary=vocabulary().inner.to_str(), data_sets=(data_set,)
    )
    examples, dead = encoder(shards.read(data_set.pages, PAGES))
    rows = {(row["doc_id"], row["page"]): row["labels"] for row in examples.to_pylist()}
    assert {place: [label for label in row if label >= 0] for place, row in rows.items()} == {
        ("a", 1): [0, 0, 0],
        ("a", 2): [1, 3],
    }
    assert [letter.doc_id for letter in dead] == ["b"]
    assert repr(encoder) == repr(replace(encoder, data_sets=(DataSet("elsewhere"),)))


def test_values_that_stand_nowhere_are_told_once_for_each_document(data_set: DataSet) -> None:
    documents = [
        Document(
            doc_id="a",
            source="a.pdf",
            split="train",
            num_pages=2,
            fields=(Field("party", "Nobody & Co."), Field("term", "none")),
        )
    ]
    shards.write(codec.documents_table(documents), data_set.documents, "part.parquet")
    task = Entities(fields=SCHEMA)
    encoder = Encoder(
        task=task,
        max_length=24,
        labels=labels_for(task, [data_set]),
        vocabulary=vocabulary().inner.to_str(),
        data_sets=(data_set,),
    )
    tables = [codec.pages_table([one], [""]) for one in (ONE, TWO)]
    (letter,), rest = (encoder(table)[1] for table in tables)
    assert (letter.doc_id, letter.source, letter.page, letter.reason) == ("a", "a.pdf", None, "value_not_found")
    assert "`party` is expected to be 'Nobody & Co.'" in letter.message
    assert rest == []


def test_values_that_contradict_each_other_are_told_once_for_each_document(data_set: DataSet) -> None:
    documents = [
        Document(
            doc_id="a",
            source="a.pdf",
            split="train",
            num_pages=2,
            fields=(Field("party", "Acme Holding"), Field("party", "Other Ltd")),
        )
    ]
    shards.write(codec.documents_table(documents), data_set.documents, "part.parquet")
    letters = tagged_pages([ONE], [data_set], {"party": FieldType(type="name")}).letters
    assert {(letter.doc_id, letter.source, letter.page, letter.reason) for letter in letters} == {
        ("a", "a.pdf", None, "contradictory")
    }
    assert ["'Acme Holding'" in letter.message for letter in letters] == [True, False]
    assert ["'Other Ltd'" in letter.message for letter in letters] == [False, True]
    assert tagged_pages([TWO], [data_set], {"party": FieldType(type="name")}).letters == []


def test_a_document_that_cannot_be_tagged_costs_its_own_pages_alone(data_set: DataSet) -> None:
    documents = [
        Document(doc_id="a", source="a.pdf", split="train", num_pages=2, fields=(Field("letter", "x"),)),
        Document(doc_id="b", source="b.pdf", split="train", num_pages=1, fields=(Field("party", "Acme Holding"),)),
    ]
    shards.write(codec.documents_table(documents), data_set.documents, "part.parquet")
    task = Entities(fields=SCHEMA | {"letter": FieldType(type=cast(Any, "letter"))})  # a type without a normal form
    encoder = Encoder(
        task=task,
        max_length=24,
        labels=labels_for(task, [data_set]),
        vocabulary=vocabulary().inner.to_str(),
        data_sets=(data_set,),
    )
    examples, dead = encoder(shards.read(data_set.pages, PAGES))
    assert set(examples["doc_id"].to_pylist()) == {"b"}
    assert {(letter.doc_id, letter.page, letter.stage, letter.reason) for letter in dead} == {
        ("a", 1, "encode", "internal"),
        ("a", 2, "encode", "internal"),
    }
    assert all("KeyError: 'letter'" in letter.message and "tag_fields" in letter.trace for letter in dead)


def test_a_data_set_without_documents_is_refused(tmp_path: Path) -> None:
    data_set = DataSet(str(tmp_path))
    shards.write(codec.pages_table([ONE], ["a1"]), data_set.pages, "part.parquet")
    with pytest.raises(SchemaError, match="documents has no"):
        tagged_pages([ONE], [data_set], SCHEMA)


def test_values_are_counted_and_a_name_that_no_document_has_is_refused_with_those_that_there_are(
    data_set: DataSet,
) -> None:
    assert count_values([data_set], SCHEMA) == 1
    with pytest.raises(
        InputError, match=r"contains partie, but no document has a value of that name; the names are party;"
    ):
        count_values([data_set], SCHEMA | {"partie": FieldType(type="name")})
