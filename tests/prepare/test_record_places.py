"""The values of a record are tagged where they stand together."""

from collections.abc import Sequence

import pytest

from layoutray.document import Box, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.tags import spans
from layoutray.prepare.tag_fields import Tagged, tag_fields
from layoutray.readers.annotation import ANNOTATED

SCHEMA = {
    "count": FieldType(type="amount"),
    "name": FieldType(type="text"),
    "unit": FieldType(type="amount"),
    "price": FieldType(type="amount"),
    "total": FieldType(type="amount"),
}
RECEIPT = (
    ("1", "tea", "2.00", "2.00"),
    ("2", "milk", "1.00", "2.00"),
    ("1", "tea", "2.00", "2.00"),
    ("", "", "", "6.00"),
)


def page(rows: Sequence[Sequence[str]], number: int = 1, *, slope: float = 0.0) -> Page:
    """Rows of 20 pixels on a page of 1000 by 1000, with a column every 200 pixels."""
    words = [
        Word(text=text, box=Box(x, y, x + 0.1, y + 0.02), line=row)
        for row, cells in enumerate(rows)
        for column, text in enumerate(cells)
        if text
        for x, y in ((0.2 * column, 0.1 + 0.04 * row + slope * 0.2 * column),)
    ]
    return Page(
        doc_id="d",
        number=number,
        width=1000,
        height=1000,
        words=tuple(words),
        source="d",
        image="",
        split="train",
        provenance=ANNOTATED,
    )


def record(row: int, *values: str) -> list[Field]:
    return [Field(name, value, row) for name, value in zip(("count", "name", "unit", "price"), values, strict=True)]


def tagged(of: Tagged) -> list[list[tuple[str, int, int | None]]]:
    """Field, first word and group of each entity of each page."""
    return [
        [(kind, start, one.words[start].group) for kind, start, _ in spans([word.tag for word in one.words])]
        for one in of.pages
    ]


@pytest.mark.parametrize("slope", [0.0, 0.06, -0.06])
def test_equal_values_are_told_apart_by_their_rows(slope: float) -> None:
    fields = [Field("total", "6"), *(field for row in (1, 2, 3) for field in record(row, *RECEIPT[row - 1]))]
    found = tag_fields([page(RECEIPT, slope=slope)], fields, SCHEMA)
    names = ["count", "name", "unit", "price"]
    rows = [(names[column], 4 * row + column, row + 1) for row in range(3) for column in range(4)]
    assert tagged(found) == [[*rows, ("total", 12, None)]]
    assert found.missing == ()


def test_a_value_of_the_document_does_not_take_that_of_a_record() -> None:
    found = tag_fields(
        [page([("1", "tea", "", "2.00"), ("", "", "", "2.00")])],
        [Field("total", "2.00"), Field("name", "tea", 1), Field("price", "2.00", 1)],
        SCHEMA,
    )
    assert tagged(found) == [[("name", 1, 1), ("price", 2, 1), ("total", 3, None)]]


def test_records_may_go_on_at_the_next_page() -> None:
    pages = [page([("1", "tea", "", "2.00")]), page([("1", "milk", "", "2.00")], 2)]
    fields = [Field("name", "tea", 1), Field("price", "2.00", 1), Field("name", "milk", 2), Field("price", "2.00", 2)]
    assert tagged(tag_fields(pages, fields, SCHEMA)) == [
        [("name", 1, 1), ("price", 2, 1)],
        [("name", 1, 2), ("price", 2, 2)],
    ]


def test_a_value_without_an_occurrence_of_its_own_is_missing() -> None:
    fields = [*record(1, "1", "tea", "2.00", "2.00"), Field("name", "tea", 2), Field("price", "9.00", 2)]
    found = tag_fields([page(RECEIPT[:1])], fields, SCHEMA)
    assert found.missing == (Field("name", "tea", 2), Field("price", "9.00", 2))
