"""Amounts of a page that are the sum of the rows above them, as a total is the sum of its line items."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import accumulate, islice

from layoutray.document.field_type import FieldType
from layoutray.document.page import Page
from layoutray.document.rows import place, rows, slope_of_lines
from layoutray.document.value_part import value_parts

_ANY_AMOUNT = FieldType(type="amount")
_COIN = Decimal("0.05")
"""What amounts are rounded to where smaller coins are not in use."""


def amounts_of(page: Page) -> list[list[Decimal]]:
    """The amounts of each row of a page, from left to right; rows without any are left out."""
    slope = slope_of_lines(page)
    amounts = [
        place(Decimal(part.form), page, [number], slope)
        for number, word in enumerate(page.words)
        for part in value_parts(word.text, _ANY_AMOUNT)
    ]
    return [[amount.item for amount in row] for row in rows(amounts)]


def row_sums(amounts: Sequence[Sequence[Decimal]]) -> frozenset[str]:
    """The normal forms of the positive amounts that are the sum of two or more consecutive rows directly above them.

    The amount of a row is the one at its right end. Rows without an amount, or with an amount of zero, do not count.
    If the page also has the sum rounded to 0.05, the rounded amount is the sum, because it is what is paid.
    """
    column = [row[-1] for row in amounts if row[-1]]
    sums = {
        amount
        for number, amount in enumerate(column)
        if amount > 0 and amount in islice(accumulate(reversed(column[:number])), 1, None)
    }
    printed = {amount for row in amounts for amount in row}
    rounded = {
        one: amount
        for one in sums
        for amount in printed
        if one % _COIN and not amount % _COIN and abs(amount - one) < _COIN
    }
    return frozenset(map(str, sums - rounded.keys() | {*rounded.values()}))


def has_near(form: str | None, amounts: Iterable[Iterable[Decimal]]) -> bool:
    """Whether another amount differs from the one of this normal form by less than 0.05, as by a rounding."""
    return form is not None and any(0 < abs(one - Decimal(form)) < _COIN for row in amounts for one in row)
