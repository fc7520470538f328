import timeit
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Box, Document, Field, Page, Word
from layoutray.document.answers import Answer, DocumentFields, Entity, FieldAnswer, Record, Region
from layoutray.errors import DocumentError, Reason
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, DEAD_LETTERS, DOCUMENTS, FIELDS, PAGES
from tests.store.pages import page, word

SIDES = st.floats(0, 1, width=32)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    (x0, x1), (y0, y1) = sorted((draw(SIDES), draw(SIDES))), sorted((draw(SIDES), draw(SIDES)))
    return Box(x0, y0, x1, y1)


WORDS = st.builds(
    Word,
    text=TEXT,
    box=boxes(),
    confidence=st.none() | SIDES,
    line=st.integers(0, 2**31 - 1),
    block=st.integers(0, 2**31 - 1),
    tag=st.none() | TEXT,
)
PAGE = st.builds(lambda name, words: page(name, 1, *words), st.text("abc", max_size=3), st.lists(WORDS, max_size=5))


@given(st.lists(PAGE, max_size=5))
def test_pages_come_back_as_they_were(pages: list[Page]) -> None:
    ids = [f"p{index}" for index in range(len(pages))]
    table = codec.pages_table(pages, ids)
    table.validate(full=True)
    assert table.schema.equals(PAGES, check_metadata=True)
    assert table["page_id"].to_pylist() == ids
    assert list(codec.pages_of(table)) == pages


def test_rows_whose_document_leads_out_of_a_folder_are_refused() -> None:
    table = codec.pages_table([page("a", 1)], ["p"])
    table = table.set_column(table.schema.get_field_index("doc_id"), "doc_id", [["../../outside"]])
    with pytest.raises(DocumentError, match="outside"):
        list(codec.pages_of(table))


@given(st.lists(PAGE, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_a_slice_of_the_rows_gives_the_slice_of_the_pages(pages: list[Page], start: int, length: int) -> None:
    table = codec.pages_table(pages, map(str, range(len(pages)))).slice(start, length)
    assert list(codec.pages_of(table)) == pages[start : start + length]


def test_tables_put_together_are_read_as_one() -> None:
    pages = [page("a", 1, word("x", tag="O")), page("b", 1), page("c", 1, word("y"), word("z"))]
    table = pa.concat_tables([codec.pages_table([one], [one.doc_id]) for one in pages])
    assert list(codec.pages_of(table)) == pages


@pytest.mark.parametrize("start", [0, 1, 2])
def test_boxes_of_gives_one_array_and_where_each_page_begins(start: int) -> None:
    other = word("b", box=Box(0, 0, 1, 1))
    table = codec.pages_table([page("a", 1, word("a"), other), page("b", 1), page("c", 1, other)], "abc").slice(start)
    array, offsets = codec.boxes_of(table)
    assert array.dtype == np.float32
    expected = [[word("a").box, other.box], [], [other.box]][start:]
    assert [[Box(*row) for row in array[a:b].tolist()] for a, b in pairwise(offsets)] == expected


def test_no_label_at_all_is_not_the_same_as_labels_that_are_missing() -> None:
    table = codec.pages_table([page("a", 1, word("x")), page("b", 1, word("x", tag="B-total"), word("y"))], "ab")
    assert table["tags"].to_pylist() == [None, ["B-total", None]]


def test_numbers_are_read_without_making_objects() -> None:
    pages = [page(f"d{number}", 1, *(word("word", line=line) for line in range(300))) for number in range(200)]
    table = codec.pages_table(pages, map(str, range(200)))
    columns, objects = (
        min(timeit.repeat(read, number=1, repeat=3))  # the fastest: other processes may interrupt a run
        for read in (lambda: codec.boxes_of(table), lambda: list(codec.pages_of(table)))
    )
    assert columns < objects / 20


def test_documents_come_back_as_they_were() -> None:
    documents = [
        Document(
            doc_id="a", source="a.png", split="train", num_pages=2, fields=(Field("total", "9.00"), Field("date", ""))
        ),
        Document(doc_id="b", source="ä", split="", num_pages=0, from_model="big"),
    ]
    table = codec.documents_table(documents)
    assert table.schema.equals(DOCUMENTS, check_metadata=True)
    assert list(codec.documents_of(table)) == documents


def test_documents_of_earlier_versions_do_not_say_which_model_stated_their_values(tmp_path: Path) -> None:
    document = Document(doc_id="a", source="a", split="train", num_pages=1, fields=(Field("total", "9"),))
    written = DataSet(str(tmp_path))
    shards.write(codec.documents_table([document]).drop_columns("from_model"), written.documents, "part.parquet")
    assert [*written.read_documents()] == [document]


def test_dead_letters_say_where_and_why() -> None:
    try:
        raise DocumentError(Reason.TIMEOUT, "too slow", stage="ocr")
    except DocumentError as error:
        letter = DeadLetter.of(error, "a.png", doc_id="a", page_id="p", page=3, attempts=2)
    table = codec.dead_letters_table([letter])
    assert table.schema.equals(DEAD_LETTERS, check_metadata=True)
    assert list(codec.dead_letters_of(table)) == [letter]
    assert (letter.reason, letter.stage, letter.retryable, letter.attempts) == ("timeout", "ocr", True, 2)
    assert "test_codec.py" in letter.trace


def test_answers_are_a_row_for_each_entity_and_one_for_a_document_without() -> None:
    regions = (Region(2, (1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0)), Region(2, (0.0,) * 8))
    found = Answer(
        doc_id="a",
        source="a.png",
        model_id="m",
        model_version="1",
        status="success",
        entities=(
            Entity(
                type="total",
                content="9.00",
                confidence=0.5,
                bounding_regions=regions,
                words=(4,),
                reading_confidence=0.25,
                sum_of_rows=True,
                near_amount=True,
            ),
        ),
        pages=(),
    )
    table = codec.answers_table(
        [
            found,
            Answer(
                doc_id="b", source="b.png", model_id="m", model_version="1", status="success", entities=(), pages=()
            ),
        ]
    )
    assert table.schema.equals(ANSWERS, check_metadata=True)
    rows = table.to_pylist()
    assert [(row["doc_id"], row["page"], row["type"]) for row in rows] == [("a", 2, "total"), ("b", 0, "")]
    assert rows[0]["polygons"] == [list(region.polygon) for region in regions]
    assert codec.entity_of(rows[0]) == Entity(
        type="total",
        content="9.00",
        confidence=0.5,
        bounding_regions=regions,
        words=(),
        reading_confidence=0.25,
        sum_of_rows=True,
        near_amount=True,
    )


def test_entities_of_a_record_have_its_name_and_row() -> None:
    regions = (Region(1, (0.0,) * 8),)
    name, total = (
        Entity(type="name", content="tea", confidence=0.5, bounding_regions=regions, words=(0,)),
        Entity(type="total", content="9.00", confidence=0.5, bounding_regions=regions, words=(4,)),
    )
    answer = Answer(
        doc_id="a",
        source="a.png",
        model_id="m",
        model_version="1",
        status="success",
        entities=(total, name),
        pages=(),
        records=(Record(name="items", page_number=1, row=3, confidence=0.5, fields=(name,)),),
    )
    rows = codec.answers_table([answer]).to_pylist()
    assert [(row["type"], row["record"], row["row"]) for row in rows] == [("total", None, None), ("name", "items", 3)]


def test_fields_are_a_row_for_each_value() -> None:
    regions = (Region(2, (1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0)), Region(2, (0.0,) * 8))
    answers = (
        FieldAnswer(
            name="total",
            value="9",
            content="9.00",
            confidence=0.5,
            score=1.25,
            bounding_regions=regions,
            known_value="Nine",
        ),
        FieldAnswer(
            name="date", value="2021-03-04", content="4/3/21", confidence=0.25, score=0.25, bounding_regions=regions[1:]
        ),
    )
    table = codec.fields_table(
        [
            DocumentFields(doc_id="a", source="a.pdf", model_id="m", model_version="1", fields=answers),
            DocumentFields(doc_id="b", source="b.pdf", model_id="m", model_version="1", fields=()),
        ]
    )
    assert table.schema.equals(FIELDS, check_metadata=True)
    rows = table.to_pylist()
    assert [(row["doc_id"], row["name"], row["value"], row["score"], row["page"]) for row in rows] == [
        ("a", "total", "9", 1.25, 2),
        ("a", "date", "2021-03-04", 0.25, 2),
    ]
    assert [row["known_value"] for row in rows] == ["Nine", None]
    assert rows[0]["polygons"] == [list(region.polygon) for region in regions]


def test_groups_come_back_and_pages_of_earlier_versions_have_none() -> None:
    pages = [page("a", 1, word("x", group=4), word("y")), page("b", 1, word("z"))]
    table = codec.pages_table(pages, "ab")
    assert table["groups"].to_pylist() == [[4, None], None]
    assert list(codec.pages_of(table)) == pages
    earlier = list(codec.pages_of(table.drop_columns("groups")))
    assert [one.group for read in earlier for one in read.words] == [None, None, None]
