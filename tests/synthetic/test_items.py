"""Line items of generated pages: their truth is exact, prices add up, and their words are found again by place."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.record_type import RecordType
from layoutray.document.tags import spans
from layoutray.readers import load
from layoutray.synthetic.bills import invent_bill
from layoutray.synthetic.canvas import Canvas, Face
from layoutray.synthetic.items import Currency, LineItem, Order
from layoutray.synthetic.render import itemised_bill, render_page, render_set
from layoutray.synthetic.sheet import Column, Sheet
from layoutray.synthetic.tables import TABLES, Table
from layoutray.tasks.entities import Entities
from layoutray.tasks.records import find_records, true_records
from tests.readers.native import items

SEEDS = range(12)


def drawn(table: Table, seed: int) -> Sheet:
    random = Random(seed)
    canvas = Canvas(800, 2400)
    sheet = Sheet(
        canvas=canvas,
        bill=invent_bill(random),
        random=random,
        face=Face("DejaVuSans", 18),
        end=":",
        upper=False,
        itemised=True,
    )
    table(Column(sheet, 40, 600, 60))
    return sheet


def records(canvas: Canvas) -> dict[int, dict[str, list[str]]]:
    """Texts of the entities of each record, by type."""
    found: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for kind, start, end in spans([mark.tag for mark in canvas.marks]):
        groups = {mark.group for mark in canvas.marks[start:end]}
        assert len(groups) == 1, "an entity is in one record"
        if (group := groups.pop()) is not None:
            found[group][kind].append(" ".join(mark.text for mark in canvas.marks[start:end]))
    return found


def printed(item: LineItem, order: Order) -> dict[str, set[str]]:
    """What may be printed of an item, by type."""
    return {
        "item.name": {item.name},
        "item.count": {form.format(item.count) for form in ("{}", "{}x", "x{}")},
        "item.discount": {order.written(item.discount), order.written(-item.discount)},
        "item.unit_price": {order.written(item.unit_price)},
        "item.price": {order.written(item.price)},
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_the_words_of_a_record_are_those_of_its_item(table: Table) -> None:
    kinds: set[str] = set()
    for seed in SEEDS:
        sheet = drawn(table, seed)
        found, order = records(sheet.canvas), sheet.bill.order
        assert sorted(found) == list(range(len(order.items)))
        for number, item in enumerate(order.items):
            allowed = printed(item, order)
            assert {"item.name", "item.price"} <= found[number].keys()
            assert ("item.discount" in found[number]) == bool(item.discount)
            assert all(len(texts) == 1 and texts[0] in allowed[kind] for kind, texts in found[number].items())
            kinds |= found[number].keys()
    assert kinds == {"item.name", "item.count", "item.unit_price", "item.price", "item.discount"}


@pytest.mark.parametrize(
    ("currency", "written"),
    [
        (Currency("USD", ".", ","), "-1,234.05"),
        (Currency("EUR", ",", "."), "-1.234,05"),
        (Currency("EUR", ",", " "), "-1 234,05"),
    ],
)
def test_amounts_have_the_notation_of_their_currency(currency: Currency, written: str) -> None:
    assert currency.written(-123405) == written


def test_some_pages_have_two_currencies_wrapped_names_and_other_orders() -> None:
    orders, wrapped, two = set[tuple[str, ...]](), 0, 0
    for seed in range(100):
        sheet = drawn(TABLES[0], seed)
        first = [mark for mark in sheet.canvas.marks if mark.group == 0 and mark.tag != "B-item.discount"]
        names = {mark.line for mark in first if mark.tag.endswith("item.name")}
        wrapped += len(names) > 1
        orders.add(tuple(mark.tag for mark in sorted(first, key=lambda mark: mark.box[0]) if mark.tag[0] == "B"))
        price = sheet.bill.order.converted(sheet.bill.order.items[0].price)
        two += bool(price) and price in " ".join(mark.text for mark in sheet.canvas.marks)
    assert len(orders) > 10
    assert wrapped > 5
    assert two > 2


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
            {tuple(sorted(field.words for field in record.fields)) for record in group([page], [entities], schema)}
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
