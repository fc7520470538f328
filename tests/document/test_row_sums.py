"""Amounts that are the sum of the rows above them."""

import math
from collections.abc import Sequence

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.row_sums import amounts_of, has_near, row_sums


def page(rows: Sequence[str], *, degrees: float = 0.0) -> Page:
    """Words 100 pixels apart, in rows 40 pixels apart, turned clockwise."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    words: list[Word] = []
    for row, text in enumerate(rows):
        for column, part in enumerate(text.split()):
            x, y = 100 + 100 * column, 20 + 40 * row
            x, y = x * cosine - y * sine, x * sine + y * cosine
            words.append(Word(text=part, box=Box(x / 1000, y / 1000, (x + 80) / 1000, (y + 30) / 1000), line=row))
    return Page(
        doc_id="a" * 64,
        number=1,
        width=1000,
        height=1000,
        words=tuple(words),
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="made up"),
    )


@pytest.mark.parametrize(
    ("rows", "sums"),
    [
        (["tea 2.50", "rusk 3.00", "total 5.50", "cash 10.00", "change 4.50"], {"5.5"}),
        (["tea 2 1.25 2.50", "rusk 1 3.00 3.00", "total 5.50"], {"5.5"}),
        (["tea RM2.50", "rusk RM3.00", "total:RM5.50"], {"5.5"}),
        (["tea:2.50", "rusk:3.00", "total:5.50"], {"5.5"}),
        (["tea 2.50", "rusk 3.00", "discount -0.50", "total 5.00"], {"5"}),
        (["tea 2.50", "rusk 3.00", "discount (0.50)", "total 5.00"], {"5"}),
        (["tea 2.50", "rusk 3.00", "discount 0.50-", "total 5.00"], {"5"}),
        (["tea 2.50", "rusk 3.00", "", "tax 0.00", "total 5.50"], {"5.5"}),
        (["tea 2.50", "rusk 3.00", "subtotal 5.50", "tax 0.55", "total 6.05"], {"5.5", "6.05"}),
        (["nasi 45,000", "teh 1.005.000", "total 1.050.000"], {"1050000"}),
        (["tea 1.250,00", "rusk 3,00", "total 1.253,00"], {"1253"}),
        (["tea 5.50", "total 5.50"], set[str]()),
        (["tea 2.50", "rusk 3.00", "total 5.60"], set[str]()),
        (["tea 2", "rusk 3", "total 5"], set[str]()),
        (["on 01.02.2018", "at 10:02.03", "tea 6.00%"], set[str]()),
        (["tea 0.00", "rusk 0.00", "total 0.00"], set[str]()),
        (["tea 2.52", "rusk 3.00", "total 5.52", "rounding 0.02", "to pay 5.50"], {"5.5"}),
        (["tea 2.53", "rusk 3.00", "total 5.53", "rounding 0.02", "to pay 5.55"], {"5.55"}),
        (["tea 2.52", "rusk 3.00", "total 5.52", "tea 5.57"], {"5.52"}),
        (["tea 2.50", "rusk 3.00", "total 5.50", "biscuits 5.52"], {"5.5"}),
        (["refund -5.00", "refund -2.00", "total -7.00"], set[str]()),
        ([], set[str]()),
    ],
)
def test_amounts_that_are_the_sum_of_two_or_more_rows_above(rows: Sequence[str], sums: set[str]) -> None:
    assert row_sums(amounts_of(page(rows))) == sums


def test_a_skewed_photograph_has_the_same_sums() -> None:
    rows = ["green tea 2 1.25 2.50", "long rusk 1 3.00 3.00", "the total of it 5.50"]
    assert row_sums(amounts_of(page(rows, degrees=4))) == {"5.5"}


@pytest.mark.parametrize(
    ("form", "near"), [("5.52", True), ("5.5", True), ("2.5", False), ("5.57", False), ("7", False), (None, False)]
)
def test_an_amount_that_another_one_differs_from_by_a_rounding(form: str | None, near: bool) -> None:
    assert has_near(form, amounts_of(page(["tea 2.50", "", "total 5.52 5.52", "to pay 5.50", "card 5.57"]))) == near
