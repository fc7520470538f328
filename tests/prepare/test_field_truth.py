"""Pages are tagged from the values of their documents, whichever pages come together."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.document import Box, Document, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError, SchemaError
from layoutray.prepare.encode import Encoder, labels_for
from layoutray.prepare.field_truth import count_values, tagged_pages
from layoutray.readers.annotation import ANNOTATED
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from tests.jobs import vocabulary

SCHEMA = {"party": FieldType("name", many=True)}


def page(doc_id: str, number: int, text: str) -> Page:
    words = tuple(Word(word, Box(0, 0, 1, 1)) for word in text.split())
    return Page(doc_id, number, 100, 100, words, source=doc_id, image="", split="train", provenance=ANNOTATED)


ONE, TWO, OTHER = page("a", 1, "by ACMEHOLDlNG and"), page("a", 2, "ACME Holding"), page("b", 1, "ACME Holding")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    made = [ONE, TWO, OTHER]
    for number, part in enumerate((made[:1], made[1:])):
        table = codec.pages_table(part, [f"{one.doc_id}{one.number}" for one in part])
        shards.write(table, str(tmp_path / "pages"), f"part-{number}.parquet")
    documents = [Document("a", "a", "train", 2, (Field("party", "Acme Holding"),)), Document("b", "b", "train", 1)]
    shards.write(codec.documents_table(documents), str(tmp_path / "documents"), "part.parquet")
    return str(tmp_path / "pages")


def tags(pages: list[Page]) -> list[list[str | None]]:
    return [[word.tag for word in one.words] for one in pages]


def test_a_document_is_tagged_as_a_whole_whichever_pages_come_together(folder: str) -> None:
    whole, letters = tagged_pages([ONE, TWO, OTHER], [folder], SCHEMA)
    assert letters == []
    # The misread name is only similar, and the right one stands on the other page.
    assert tags(whole) == [["O", "O", "O"], ["B-party", "I-party"], [None, None]]
    assert [tagged_pages([one], [folder], SCHEMA)[0][0] for one in (ONE, TWO, OTHER)] == whole
    assert [replace(one, words=ONE.words) for one in whole[:1]] == [ONE], "nothing else changes"


def test_encoded_pages_have_the_fields_as_labels_and_those_without_truth_are_dead_letters(folder: str) -> None:
    task = EntitiesBioes(fields=SCHEMA)
    labels = labels_for(task, [folder])
    assert labels == ("O", "B-party", "I-party", "E-party", "S-party")
    encoder = Encoder(task, 24, labels, vocabulary().inner.to_str(), (folder,))
    examples, dead = encoder(shards.read(folder, PAGES))
    rows = {(row["doc_id"], row["page"]): row["labels"] for row in examples.to_pylist()}
    assert {place: [label for label in row if label >= 0] for place, row in rows.items()} == {
        ("a", 1): [0, 0, 0],
        ("a", 2): [1, 3],
    }
    assert [letter.doc_id for letter in dead] == ["b"]
    assert repr(encoder) == repr(replace(encoder, folders=("elsewhere",)))


def test_values_that_stand_nowhere_are_told_once_for_each_document(folder: str) -> None:
    documents = [Document("a", "a.pdf", "train", 2, (Field("party", "Nobody & Co."), Field("term", "none")))]
    shards.write(codec.documents_table(documents), folder.removesuffix("pages") + "documents", "part.parquet")
    task = Entities(fields=SCHEMA)
    encoder = Encoder(task, 24, labels_for(task, [folder]), vocabulary().inner.to_str(), (folder,))
    tables = [codec.pages_table([one], [""]) for one in (ONE, TWO)]
    (letter,), rest = (encoder(table)[1] for table in tables)
    assert (letter.doc_id, letter.source, letter.page, letter.reason) == ("a", "a.pdf", None, "value_not_found")
    assert "`party` should be 'Nobody & Co.'" in letter.message
    assert rest == []


def test_pages_without_documents_beside_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="documents has no"):
        tagged_pages([ONE], [str(tmp_path / "pages")], SCHEMA)


def test_values_are_counted_and_a_name_that_no_document_has_is_refused_with_those_that_there_are(folder: str) -> None:
    assert count_values([folder], SCHEMA) == 1
    with pytest.raises(InputError, match=r"names partie, and no document has a value of that name; there are party;"):
        count_values([folder], SCHEMA | {"partie": FieldType("name")})
