"""Drawn documents: nothing overlaps, entities are whole, amounts and dates agree, and pages differ."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import chain, pairwise
from random import Random

import numpy as np
import pytest

from layoutray.document.tags import spans
from layoutray.synthetic.bills import Bill, invent_bill
from layoutray.synthetic.blocks import PAIRS
from layoutray.synthetic.canvas import Canvas, Face, by_rows
from layoutray.synthetic.country import countries
from layoutray.synthetic.layouts import LAYOUTS, draw
from layoutray.synthetic.sheet import AMOUNTS, Column, amount
from layoutray.synthetic.wordings import LANGUAGES, data

NAMES = ["receipt", "invoice", "form", "letter", "statement", "order", "delivery"]
Drawn = Mapping[str, Sequence[tuple[Canvas, int]]]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Pages of each kind with the used heights, every second page with entities of line items."""
    return {
        name: [draw(Random(seed), layout, itemised=seed % 2 == 0) for seed in range(14)]
        for name, (layout, _) in zip(NAMES, LAYOUTS, strict=True)
    }


def cents(text: str) -> int:
    return int("".join(re.findall(r"\d", text))) * (-1 if text.startswith("-") else 1)


def test_a_page_that_has_all_of_its_numbers_gets_no_further_ones() -> None:
    def layout(column: Column) -> None:
        for block in PAIRS:
            block(column, [])

    canvas, _ = draw(Random(1), layout)
    assert canvas.marks == []


@pytest.mark.parametrize("name", NAMES)
def test_no_word_overlaps_another_or_leaves_the_sheet(drawn: Drawn, name: str) -> None:
    for seed, (canvas, height) in enumerate(drawn[name]):
        boxes = np.array([mark.box for mark in canvas.marks])
        assert boxes.min() >= 0
        assert boxes[:, 2].max() <= canvas.width
        assert boxes[:, 3].max() <= min(height, canvas.image.height)
        wide = np.minimum(boxes[:, None, 2], boxes[None, :, 2]) - np.maximum(boxes[:, None, 0], boxes[None, :, 0])
        high = np.minimum(boxes[:, None, 3], boxes[None, :, 3]) - np.maximum(boxes[:, None, 1], boxes[None, :, 1])
        shared = np.maximum(wide, 0) * np.maximum(high, 0)
        np.fill_diagonal(shared, 0)
        assert shared.max() == 0, seed


def test_entities_are_whole_in_any_order_of_words(drawn: Drawn) -> None:
    lines: Counter[int] = Counter()
    for canvas, _ in chain.from_iterable(drawn.values()):
        for kind, start, end in spans([mark.tag for mark in canvas.marks]):
            text = " ".join(mark.text for mark in canvas.marks[start:end])
            if kind in ("company", "address", "customer_address", "number"):
                assert canvas.values[kind] in text, kind
            if kind == "address":
                lines[len({mark.line for mark in canvas.marks[start:end]})] += 1
    assert {1, 2, 3} <= lines.keys(), "addresses of several lengths"


def test_rows_are_read_from_left_to_right_with_entities_in_one_piece() -> None:
    canvas, face = Canvas(400, 200), Face("DejaVuSans", 14)
    canvas.flow((0, 20), 100, [("12 Chapel Road\nLeeds", "address")], face)
    canvas.flow((200, 20), 200, [("Date:", ""), ("1/2/2021", "date")], face)
    canvas.flow((200, 45), 100, [("Total", "")], face)
    assert " ".join(mark.text for mark in by_rows(canvas.marks)) == "12 Chapel Road Leeds Date: 1/2/2021 Total"


@pytest.fixture(scope="module")
def bills() -> list[Bill]:
    return [invent_bill(Random(seed)) for seed in range(300)]


def test_amounts_add_up(bills: list[Bill]) -> None:
    for bill in bills:
        values = {kind: cents(bill.values[kind]) for kind in AMOUNTS}
        assert values["subtotal"] + values["tax"] + values["rounding"] == values["total"]
        assert values["paid"] - values["total"] == values["change"] >= 0
        assert cents(bill.before_rounding) + values["rounding"] == values["total"]
        goods = bill.order.sum + values["shipping"]
        assert goods in (values["subtotal"], values["subtotal"] + values["tax"])


def test_all_countries_and_languages_occur(bills: list[Bill]) -> None:
    assert {bill.country for bill in bills} == set(countries().values())
    assert {bill.country.language for bill in bills} == set(LANGUAGES)


def test_texts_are_filled_in(bills: list[Bill]) -> None:
    for bill in bills:
        for kind, value in bill.values.items():
            assert value, kind
            assert not set(value) & set("#{}|"), (kind, value)
            assert "@" not in value or kind == "email", (kind, value)


def test_dates_are_written_as_the_country_does() -> None:
    germany, day = countries()["DE"], date(2021, 3, 5)
    written = {germany.written(day, pattern) for pattern in germany.dates}
    assert {"05.03.2021", "5. März 2021", "5.3.2021"} <= written


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        ("{}", [("9.50", "total")]),
        ("RM{}", [("RM9.50", "total")]),
        ("RM {}", [("RM", "currency"), ("9.50", "total")]),
        ("{} EUR", [("9.50", "total"), ("EUR", "currency")]),
    ],
)
def test_the_sign_of_a_currency_is_a_word_only_behind_a_space(pattern: str, runs: list[tuple[str, str]]) -> None:
    assert amount(pattern, "9.50", "total") == runs


def test_sentences_name_known_kinds() -> None:
    known = invent_bill(Random(1)).values.keys()
    for language in LANGUAGES:
        phrases = data("phrases")[language]
        for text in (*phrases["sentences"], *phrases["greetings"]):
            assert set(re.findall(r"\{(\w+)\}", text)) <= known, text


def test_labels_of_a_kind_have_many_wordings_and_places(drawn: Drawn) -> None:
    places: defaultdict[str, set[str]] = defaultdict(set)
    for canvas, _ in chain.from_iterable(drawn.values()):
        for before, mark in pairwise(canvas.marks):
            if mark.tag == "B-date":
                places[before.text.lower()].add("same" if before.line == mark.line else "other")
    assert len(places) > 15
    assert {"same", "other"} == set().union(*places.values())
