"""Records of documents of several pages: they go on over a page break, and add up to what the document states."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from benchmarks.measure.drawn_invoices import long_invoice
from layoutray.document import Page
from layoutray.document.answers import Entity, Found, Record, RecordSum
from layoutray.document.record_type import RecordType
from layoutray.errors import InputError
from layoutray.inference.extractor import page_answers
from layoutray.synthetic.render import Draw, document
from layoutray.tasks.records import find_records, record_sums, true_records
from tests.synthetic.test_items import read_back
from tests.tasks.test_records import Cell, entities, page

KIND = RecordType(("name", "count", "unit", "price"), amount="price", count="count", unit_price="unit")
INVOICE = RecordType(
    ("item.name", "item.count", "item.unit_price", "item.price", "item.discount"),
    amount="item.price",
    count="item.count",
    unit_price="item.unit_price",
    discount="item.discount",
)


def answered(*of_pages: Sequence[Cell]) -> tuple[tuple[Record, ...], tuple[RecordSum, ...]]:
    """The records and sums of a document with these cells on its pages."""
    pages = [replace(page(cells), number=number) for number, cells in enumerate(of_pages, 1)]
    records = find_records(pages, [entities(one) for one in pages], {"items": KIND})
    return records, record_sums(pages, records, {"items": KIND})


def shown(records: Sequence[Record]) -> list[str]:
    return ["|".join(entity.content for entity in record.fields) for record in records]


def row(name: str, count: int, unit: str, price: str, top: float) -> list[Cell]:
    return [
        ("name", name, 0, top),
        ("count", f"{count}x", 300, top),
        ("unit", unit, 400, top),
        ("price", price, 500, top),
    ]


def test_a_record_that_begins_on_a_page_may_end_on_the_next_one() -> None:
    begun: list[Cell] = [("name", "tea", 0, 50), ("name", "milk", 0, 110), ("price", "4.00", 500, 80)]
    rest: list[Cell] = [("price", "1.00", 500, 50), ("name", "rusk", 0, 110), ("price", "2.00", 500, 140)]
    records, _ = answered(begun, rest)
    assert shown(records) == ["tea|4.00", "milk|1.00", "rusk|2.00"]
    assert [(one.page_number, one.row) for one in records] == [(1, 1), (1, 2), (2, 3)]


def test_answers_of_pages_have_the_parts_of_a_record_that_goes_on_under_the_same_row() -> None:
    rest: list[Cell] = [("price", "1.00", 500, 50), ("name", "rusk", 0, 110), ("price", "2.00", 500, 110)]
    first, second = page([("name", "milk", 0, 110)]), page(rest)
    pages = [replace(second, number=2), replace(second, number=1, doc_id="b"), replace(first, number=1)]
    found = page_answers(pages, [Found(entities(one)) for one in pages], ("m", "1"), {"items": KIND})
    rows = [[(one.page_number, one.row, *shown([one])) for one in answer.records] for answer in found]
    assert rows == [[(1, 1, "1.00"), (2, 2, "rusk|2.00")], [(1, 1, "rusk|1.00|2.00")], [(1, 1, "milk")]]


def test_an_amount_of_a_record_that_ends_on_a_further_page_is_not_below_it() -> None:
    begun: list[Cell] = [("name", "tea", 0, 50), ("price", "4.00", 500, 50), ("name", "milk", 0, 110)]
    rest: list[Cell] = [("price", "1.00", 500, 50), ("", "6.00", 500, 140)]
    assert answered(begun, rest)[1] == (RecordSum(name="items", sum="5.00", adds_up=False),)


def test_what_stands_above_keys_on_the_first_page_stands_above_them_on_others() -> None:
    first: list[Cell] = [
        ("count", "1x", 0, 50), ("name", "tea", 0, 80), ("price", "4.00", 500, 80),
        ("count", "2x", 0, 110), ("name", "milk", 0, 140), ("price", "1.00", 500, 140),
    ]  # fmt: skip
    second: list[Cell] = [("count", "3x", 0, 50), ("name", "rusk", 0, 80), ("price", "2.00", 500, 80)]
    assert shown(answered(first, second)[0]) == ["tea|1x|4.00", "milk|2x|1.00", "rusk|3x|2.00"]


def test_repeated_headings_and_carried_sums_are_no_records() -> None:
    heading: list[Cell] = [("", "Goods", 0, 20), ("", "Amount", 500, 20)]
    first = [*heading, *row("tea", 2, "2.00", "4.00", 50), *row("milk", 1, "1.50", "1.50", 80)]
    carried: list[Cell] = [("name", "Carried forward", 0, 110), ("price", "5.50", 500, 110)]
    again: list[Cell] = [("name", "Goods", 0, 20), ("price", "Amount", 500, 20)]
    brought: list[Cell] = [("name", "Brought forward", 0, 50), ("price", "5.50", 500, 50)]
    second = [*again, *brought, *row("rusk", 1, "5.50", "5.50", 80), ("", "Total", 0, 140), ("", "11.00", 500, 140)]
    records, sums = answered([*first, *carried], second)
    assert shown(records) == ["tea|2x|2.00|4.00", "milk|1x|1.50|1.50", "rusk|1x|5.50|5.50"]
    assert sums == (RecordSum(name="items", sum="11.00", adds_up=True),)


@pytest.mark.parametrize(
    ("below", "adds_up"),
    [
        ((), None),
        (("5.50",), True),
        (("1.10", "6.60"), True),
        (("0.50", "1.00", "7.00"), True),
        (("0.50", "5.00"), True),
        (("5.51",), False),
    ],
)
def test_a_sum_is_stated_with_what_is_added_or_taken_off(below: Sequence[str], adds_up: bool | None) -> None:
    cells = [*row("tea", 2, "2.00", "4.00", 50), *row("milk", 1, "1.50", "1.50", 80)]
    amounts: list[Cell] = [("", amount, 500, 200 + 40 * number) for number, amount in enumerate(below)]
    assert answered([*cells, *amounts])[1][0].adds_up is adds_up


def test_each_row_says_whether_its_count_times_its_price_is_its_amount() -> None:
    cells = [*row("tea", 2, "2.00", "4.00", 50), *row("milk", 3, "1.50", "4.00", 80), ("name", "rusk", 0, 110)]
    assert [record.adds_up for record in answered([*cells, ("price", "2.00", 500, 110)])[0]] == [True, False, None]


def test_without_a_field_of_amounts_nothing_is_summed() -> None:
    one = page(row("tea", 2, "2.00", "5.00", 50))
    schema = {"items": RecordType(("name", "count", "unit", "price"))}
    records = find_records([one], [entities(one)], schema)
    assert ([record.adds_up for record in records], record_sums([one], records, schema)) == ([None], ())


def test_the_items_of_drawn_invoices_are_found_over_all_pages_and_a_wrong_amount_shows() -> None:
    for seed in range(4):
        pages, found = drawn(f"long {seed}", long_invoice)
        schema = {"items": INVOICE}
        records = find_records(pages, found, schema)
        assert shown(records) == shown(true_records(pages, found, schema)), seed
        assert [one.adds_up for one in record_sums(pages, records, schema)] == [True], seed
        wrong = [[_changed(one) if one is records[-1].fields[-1] else one for one in on_page] for on_page in found]
        records = find_records(pages, wrong, schema)
        rows = [record.adds_up for record in records]
        assert False in (*rows, record_sums(pages, records, schema)[0].adds_up), seed


def drawn(seed: str, draw: Draw) -> tuple[list[Page], list[tuple[Entity, ...]]]:
    """The pages of a drawn document, and the entities of its annotation."""
    _, annotation = document(Random(seed), draw)
    pages = [
        replace(read_back(one["words"], one["width"], one["height"]), number=number)
        for number, one in enumerate(annotation["pages"], 1)
    ]
    return pages, [entities(one) for one in pages]


def _changed(entity: Entity) -> Entity:
    """The entity with another digit."""
    at = next(at for at, letter in enumerate(entity.content) if letter.isdigit())
    return replace(
        entity, content=f"{entity.content[:at]}{(int(entity.content[at]) + 1) % 10}{entity.content[at + 1 :]}"
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"amount": "total"}, "amount is 'total'; allowed is one of its fields: name"),
        ({"count": "name"}, "without amount"),
    ],
)
def test_keys_that_name_no_field_are_refused(keys: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        RecordType(("name",), **keys)
