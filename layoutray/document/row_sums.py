"""Amounts of a page that are the sum of the rows above them, as a total is the sum of its line items."""

import re
from collections.abc import Iterator
from decimal import Decimal

from layoutray.document.field_type import FieldType
from layoutray.document.levelling import slope_of_lines
from layoutray.document.normal_form import normal_form
from layoutray.document.page import Page
from layoutray.document.rows import place, rows

_AMOUNT = re.compile(
    r"(?<![\d.,/:-])[-(]?(?:\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d\d)?|\d+[.,]\d\d)(?![.,/:-]?\d|\s*%)(?:-(?!\d)|\))?"
)
"""A number with two decimals or with groups of three digits; no date, time or percentage."""
_ANY_AMOUNT = FieldType("amount")


def row_sums(page: Page) -> frozenset[str]:
    """The normal forms of the positive amounts that are the sum of two or more consecutive rows directly above them.

    The amount of a row is the one at its right end. Rows without an amount, or with an amount of zero, do not count.
    """
    slope = slope_of_lines(page)
    amounts = [
        place(amount, page, [number], slope) for number, word in enumerate(page.words) for amount in _amounts(word.text)
    ]
    column = [amount for row in rows(amounts) if (amount := row[-1].item)]
    return frozenset(str(amount) for number, amount in enumerate(column) if _is_sum(amount, column[:number]))


def _amounts(text: str) -> Iterator[Decimal]:
    for match in _AMOUNT.finditer(text):
        if form := normal_form(match[0], _ANY_AMOUNT):
            yield Decimal(form)


def _is_sum(amount: Decimal, above: list[Decimal]) -> bool:
    """Whether a positive amount is the sum of the last two or more amounts above it."""
    if amount <= 0 or len(above) < 2:
        return False
    total = above[-1]
    for one in reversed(above[:-1]):
        total += one
        if total == amount:
            return True
    return False
