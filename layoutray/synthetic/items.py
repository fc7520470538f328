"""Invented line items: names, counts, prices and discounts. All amounts are whole minor units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

_LARGE = (1, 1, 1, 1, 10, 100)
"""Factors of prices: most pages have small amounts."""


@dataclass(frozen=True, slots=True)
class Currency:
    """How a currency writes numbers: its signs before the two decimals and between groups of three digits."""

    code: str
    point: str
    separator: str

    def written(self, amount: int) -> str:
        """An amount as it is printed; a negative one begins with a minus sign."""
        whole, rest = divmod(abs(amount), 100)
        digits = f"{whole:,}".replace(",", self.separator)
        return f"{'-' if amount < 0 else ''}{digits}{self.point}{rest:02}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """One item of an order. `discount`: of the whole item; `percent`: of the discount, 0 if it is printed without."""

    name: str
    code: str
    count: int
    unit_price: int
    discount: int
    percent: int

    @property
    def price(self) -> int:
        """Of all its units, before the discount."""
        return self.count * self.unit_price


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Line items of one document.

    Attributes:
        currency: of all amounts.
        pattern: of an amount in a table, with the sign of the currency.
        other, rate: currency in which amounts are additionally printed, and its units for 100 units of `currency`; None
            and 0 for documents in one currency.
        headings: of columns by what they show.
        discount: the word for it.
    """

    items: tuple[LineItem, ...]
    currency: Currency
    pattern: str
    other: Currency | None
    rate: int
    headings: Mapping[str, Sequence[str]]
    discount: str

    @property
    def sum(self) -> int:
        """Sum of the prices, with all discounts taken off."""
        return sum(item.price - item.discount for item in self.items)

    def written(self, amount: int) -> str:
        """An amount as tables print it."""
        return self.pattern.format(self.currency.written(amount))

    def converted(self, amount: int) -> str:
        """An amount in the other currency, as it is printed; empty if there is no other currency."""
        return self.other.written(round(amount * self.rate / 100)) if self.other else ""


def invent_items(random: Random, phrases: Mapping[str, Any], count: int = 0) -> tuple[LineItem, ...]:
    """`count` items, or one to nine if it is 0, named in a language; half of the orders have discounts."""
    discounted, detailed = random.choice((0.0, 0.0, 0.4)), random.choice((0.0, 0.2, 0.9))
    large = random.choice(_LARGE)
    items: list[LineItem] = []
    for _ in range(count or random.choice((1, 1, 2, 3, 4, 5, 7, 9))):
        details = [random.choice(phrases["attributes"]) for _ in range(2) if random.random() < detailed]
        number = random.choice((1, 1, 1, 2, 3, 4, 6, 12))
        unit_price = random.randrange(80, 6000, random.choice((1, 5, 10))) * large
        percent = random.choice((5, 10, 20, 50)) if random.random() < discounted else 0
        items.append(
            LineItem(
                name=" ".join([random.choice(phrases["goods"]), *details]),
                code=str(random.randint(1000, 10 ** random.choice((5, 6, 13)))),
                count=number,
                unit_price=unit_price,
                discount=max(number * unit_price * percent // 100, 1) if percent else 0,
                percent=percent * random.randrange(2),
            )
        )
    return tuple(items)
