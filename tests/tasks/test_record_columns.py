"""Amounts of records have the types of their columns, whatever a model has taken them for on single pages."""

from collections.abc import Sequence
from dataclasses import replace

from layoutray.document.answers import Entity
from layoutray.document.record_type import RecordType
from layoutray.tasks.record_columns import with_columns
from tests.tasks.test_records import Cell, entities, page

KIND = RecordType(
    ("name", "count", "unit", "price", "less"), amount="price", count="count", unit_price="unit", discount="less"
)


def types_of(*of_pages: Sequence[Cell], kind: RecordType = KIND) -> list[list[str]]:
    """The types of the amounts of each page, where the cells say what a model has taken them for."""
    pages = [replace(page(cells), number=number) for number, cells in enumerate(of_pages, 1)]
    found: list[tuple[Entity, ...]] = with_columns(pages, [entities(one) for one in pages], {"items": kind})
    return [[one.type for one in on_page if one.type not in ("name", "count")] for on_page in found]


def row(top: float, count: str, *amounts: tuple[str, str], left: float = 300) -> list[Cell]:
    cells: list[Cell] = [("name", "tea", 0, top), ("count", count, 100, top)] if count else [("name", "tea", 0, top)]
    return [*cells, *((kind, text, left + 150 * at, top) for at, (kind, text) in enumerate(amounts))]


def test_a_page_without_a_heading_takes_the_columns_of_the_others() -> None:
    right = [*row(50, "", ("price", "4.00"), ("less", "1.00")), *row(90, "", ("price", "9.00"), ("less", "0.50"))]
    wrong = row(50, "", ("less", "3.00"), ("price", "2.00"))
    assert types_of(right, wrong) == [["price", "less", "price", "less"], ["price", "less"]]


def test_count_times_unit_price_tells_amounts_from_unit_prices() -> None:
    cells = [*row(50, "2", ("price", "2.00"), ("unit", "4.00")), *row(90, "3", ("price", "1.50"), ("unit", "4.50"))]
    assert types_of(cells) == [["unit", "price", "unit", "price"]]


def test_a_unit_price_and_a_discount_are_not_above_the_amount() -> None:
    cells = [*row(50, "", ("price", "2.00"), ("unit", "4.00")), *row(90, "", ("price", "0.10"), ("unit", "4.50"))]
    assert types_of(cells) == [["unit", "price", "unit", "price"]]


def test_an_amount_in_a_second_currency_is_left_out() -> None:
    one = row(50, "2", ("unit", "2.00"), ("price", "4.00"), ("less", "17.20"))
    other = row(90, "3", ("unit", "1.50"), ("price", "4.50"), ("less", "19.35"))
    assert types_of([*one, *other]) == [["unit", "price", "unit", "price"]]


def test_a_page_at_another_scale_has_the_same_columns() -> None:
    narrow: list[Cell] = [
        (kind, text, left / 2, top)
        for kind, text, left, top in row(50, "2", ("unit", "2.00"), ("price", "4.00"))
        + row(90, "3", ("price", "1.50"), ("unit", "4.50"))
    ]
    wide = [*row(50, "2", ("unit", "2.00"), ("price", "4.00")), *row(90, "5", ("unit", "1.00"), ("price", "5.00"))]
    assert types_of(wide, narrow) == [["unit", "price"] * 2] * 2


def test_a_discount_on_a_line_of_its_own_stays_one() -> None:
    cells = [*row(50, "2", ("unit", "2.00"), ("price", "4.00")), ("less", "1.00", 450, 90)]
    assert types_of([*cells, *row(130, "3", ("unit", "1.50"), ("price", "4.50"))])[0][2] == "less"


def test_without_a_field_of_amounts_nothing_changes() -> None:
    cells = row(50, "2", ("price", "2.00"), ("unit", "4.00"))
    assert types_of(cells, kind=RecordType(("name", "count", "unit", "price"))) == [["price", "unit"]]
