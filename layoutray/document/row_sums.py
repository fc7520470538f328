"""Amounts of a page that are the sum of the rows above them, as a total is the sum of its line items."""

from decimal import Decimal

from layoutray.document.field_type import FieldType
from layoutray.document.page import Page
from layoutray.document.rows import place, rows, slope_of_lines
from layoutray.document.value_part import value_parts

_ANY_AMOUNT = FieldType(type="amount")


def row_sums(page: Page) -> frozenset[str]:
    """The normal forms of the positive amounts that are the sum of two or more consecutive rows directly above them.

    The amount of a row is the one at its right end. Rows without an amount, or with an amount of zero, do not count.
    """
    slope = slope_of_lines(page)
    amounts = [
        place(Decimal(part.form), page, [number], slope)
        for number, word in enumerate(page.words)
        for part in value_parts(word.text, _ANY_AMOUNT)
    ]
    column = [amount for row in rows(amounts) if (amount := row[-1].item)]
    return frozenset(str(amount) for number, amount in enumerate(column) if _is_sum(amount, column[:number]))


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
