"""Line items of generated pages: their truth is exact, sums add up, and nothing overlaps."""

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.record_type import RecordType
from layoutray.document.tags import spans
from layoutray.readers import load
from layoutray.synthetic.canvas import Canvas
from layoutray.synthetic.items import CURRENCIES, Currency, LineItem, Order, invent_order, ordered
from layoutray.synthetic.layouts import WITH_GOODS
from layoutray.synthetic.render import itemised_bill, render_page, render_set
from layoutray.synthetic.tables import TABLES, Table
from layoutray.synthetic.text import Bill, invent_bill
from layoutray.tasks.entities import Entities
from layoutray.tasks.records import find_records, true_records
from tests.readers.native import items

SEEDS = range(12)
Layout = Callable[..., tuple[Canvas, int]]


def drawn(layout: Layout, table: Table, seed: int) -> tuple[Order, Bill, Canvas, int]:
    random = Random(seed)
    order = invent_order(random)
    bill = ordered(invent_bill(random), order, random)
    canvas, height = layout(bill, random, lambda canvas, _, y, face: table(canvas, order, y, face, random))
    return order, bill, canvas, height


def records(canvas: Canvas) -> dict[int, dict[str, list[str]]]:
    """Texts of the entities of each record, by type."""
    found: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for kind, start, end in spans([mark.tag for mark in canvas.marks]):
        groups = {mark.group for mark in canvas.marks[start:end]}
        assert len(groups) == 1, "an entity is in one record"
        if (group := groups.pop()) is not None:
            found[group][kind].append(" ".join(mark.text for mark in canvas.marks[start:end]))
    return found


def printed(item: LineItem, currency: Currency) -> dict[str, set[str]]:
    """What may be printed of an item, by type."""
    amounts = {"unit_price": item.unit_price, "price": item.price}
    return {
        "item.name": {item.name},
        "item.count": {form.format(item.count) for form in ("{}", "{}x", "x{}")},
        "item.discount": {currency.written(item.discount), currency.written(-item.discount)},
        **{f"item.{name}": {currency.written(amount)} for name, amount in amounts.items()},
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_the_words_of_a_record_are_those_of_its_item(table: Table) -> None:
    kinds: set[str] = set()
    for seed in SEEDS:
        order, _, canvas, _ = drawn(WITH_GOODS[seed % len(WITH_GOODS)], table, seed)
        found = records(canvas)
        assert sorted(found) == list(range(len(order.items)))
        for number, item in enumerate(order.items):
            allowed = printed(item, order.currency)
            assert {"item.name", "item.price"} <= found[number].keys()
            assert ("item.discount" in found[number]) == bool(item.discount)
            assert all(len(texts) == 1 and texts[0] in allowed[kind] for kind, texts in found[number].items())
            kinds |= found[number].keys()
    assert kinds == {"item.name", "item.count", "item.unit_price", "item.price", "item.discount"}


def amount(text: str, currency: Currency) -> int:
    """An amount as it is printed, in minor units."""
    return int("".join(re.findall(r"\d", text))) * (-1 if text.startswith("-") else 1)


def test_sums_add_up_on_the_page() -> None:
    for seed in SEEDS:
        order, bill, canvas, _ = drawn(WITH_GOODS[0], TABLES[0], seed)
        lines = records(canvas).values()
        prices = sum(amount(line["item.price"][0], order.currency) for line in lines)
        discounts = sum(abs(amount(text, order.currency)) for line in lines for text in line["item.discount"])
        subtotal, tax, total, cash, change = (
            amount(text, order.currency) for text in (bill.subtotal, bill.tax, bill.total, bill.cash, bill.change)
        )
        assert prices - discounts == subtotal
        assert subtotal + tax == total
        assert cash - total == change >= 0
        assert [mark.text for mark in canvas.marks if mark.tag == "B-total"] == [bill.total]
        assert {bill.subtotal, bill.total} <= {mark.text for mark in canvas.marks}


@pytest.mark.parametrize(
    ("currency", "written"),
    [*zip(CURRENCIES, ["$1,234.05", "1.234,05€", "1,234.05", "1'234.05", "123.405"], strict=True)],
)
def test_amounts_have_the_notation_of_their_currency(currency: Currency, written: str) -> None:
    assert currency.written(123405) == written
    assert amount(currency.written(-123405), currency) == -123405


def test_some_pages_have_two_currencies_wrapped_names_and_other_orders() -> None:
    orders, wrapped, two = set[tuple[str, ...]](), 0, 0
    for seed in range(60):
        order, bill, canvas, _ = drawn(WITH_GOODS[seed % len(WITH_GOODS)], TABLES[0], seed)
        first = [mark for mark in canvas.marks if mark.group == 0 and mark.tag != "B-item.discount"]
        names = {mark.line for mark in first if mark.tag.endswith("item.name")}
        wrapped += len(names) > 1
        orders.add(tuple(mark.tag for mark in sorted(first, key=lambda mark: mark.box[0]) if mark.tag[0] == "B"))
        two += order.other is not None and bill.other_total in {mark.text for mark in canvas.marks}
    assert len(orders) > 10
    assert wrapped > 5
    assert two > 5


@pytest.mark.parametrize("layout", WITH_GOODS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_no_word_overlaps_another_or_leaves_the_sheet(layout: Layout, table: Table) -> None:
    for seed in SEEDS:
        _, _, canvas, height = drawn(layout, table, seed)
        boxes = np.array([mark.box for mark in canvas.marks])
        assert boxes.min() >= 0
        assert boxes[:, 2].max() <= canvas.width
        assert boxes[:, 3].max() <= min(height, canvas.image.height)
        wide = np.minimum(boxes[:, None, 2], boxes[None, :, 2]) - np.maximum(boxes[:, None, 0], boxes[None, :, 0])
        high = np.minimum(boxes[:, None, 3], boxes[None, :, 3]) - np.maximum(boxes[:, None, 1], boxes[None, :, 1])
        shared = np.maximum(wide, 0) * np.maximum(high, 0)
        np.fill_diagonal(shared, 0)
        assert shared.max() == 0, seed


def test_a_seed_reproduces_its_pages() -> None:
    (image, annotation), (again, same), (_, other) = (
        render_page(Random(seed), itemised_bill) for seed in ("1/0", "1/0", "2/0")
    )
    assert (image.tobytes(), annotation) == (again.tobytes(), same)
    assert other != annotation


def test_records_found_by_place_are_those_of_the_truth() -> None:
    schema = {"items": RecordType(("item.name", "item.count", "item.unit_price", "item.price", "item.discount"))}
    for seed in SEEDS:
        image, annotation = render_page(Random(seed), itemised_bill)
        page = read_back(annotation["words"], image.width, image.height)
        entities = Entities().entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
        found, true = (
            {tuple(sorted(field.words for field in record.fields)) for record in group(page, entities, schema)}
            for group in (find_records, true_records)
        )
        assert found == true, seed


def read_back(words: list[dict[str, Any]], width: int, height: int) -> Page:
    """A page with the words of an annotation."""
    made = tuple(
        Word(
            text=word["text"],
            box=Box(*(side / size for side, size in zip(word["box"], (width, height) * 2, strict=True))),
            line=word["line"],
            tag=word["tag"],
            group=word.get("group"),
        )
        for word in words
    )
    return Page(
        doc_id="a" * 64,
        number=1,
        width=width,
        height=height,
        words=made,
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="made up"),
    )


def test_the_reader_gives_words_their_records(tmp_path: Path) -> None:
    render_set(tmp_path, 6, 4, itemised_bill)
    reader = load("synthetic")
    for item in items(reader, tmp_path).values():
        truth = reader.read(item)
        words = truth.pages[0].words
        assert {word.group is None for word in words if word.tag and "item." in word.tag} == {False}
        assert {word.group for word in words if word.tag and "item." not in word.tag} == {None}
        names = [word.group for word in words if word.tag == "B-item.name"]
        assert sorted(name for name in names if name is not None) == list(range(len(names)))
        assert not any(field.name.startswith("item.") for field in truth.document.fields)
