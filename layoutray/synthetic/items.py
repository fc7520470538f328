"""Invented line items: names, counts, prices and discounts in several currencies. All amounts are whole minor units."""

from dataclasses import dataclass, replace
from random import Random

from layoutray.synthetic.text import GOODS, Bill

_ATTRIBUTES = (
    ("small", "large", "family size", "extra strong", "organic", "second choice"),
    ("blue", "dark red", "natural", "assorted colours", "lemon", "unscented"),
    ("2 kg", "500 g", "1 l", "pack of 6", "30 x 40 cm", "12 pieces"),
)
_LONGEST_WITH_CODE = len("9999.99")
"""Characters of a total that leave room for a currency code between it and its label."""
_NOTE = 1000
"""Cash is paid in multiples of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """How amounts of a currency are printed.

    Attributes:
        code: for headings.
        before, after: printed next to each amount, without a space.
        decimals: digits after `point`.
        separator: between groups of three digits.
        least, most: range of prices.
        step: all prices are multiples of it.
    """

    code: str
    before: str = ""
    after: str = ""
    decimals: int = 2
    point: str = "."
    separator: str = ","
    least: int = 80
    most: int = 6000
    step: int = 1

    def written(self, amount: int) -> str:
        """An amount as it is printed; a negative one begins with a minus sign."""
        whole, rest = divmod(abs(amount), 10**self.decimals)
        fraction = f"{self.point}{rest:0{self.decimals}}" if self.decimals else ""
        digits = f"{whole:,}".replace(",", self.separator) + fraction
        return f"{'-' if amount < 0 else ''}{self.before}{digits}{self.after}"


CURRENCIES = (
    Currency(code="USD", before="$"),
    Currency(code="EUR", after="€", point=",", separator="."),
    Currency(code="MYR"),
    Currency(code="CHF", separator="'", step=5),
    Currency(code="IDR", decimals=0, point="", separator=".", least=1500, most=60000, step=500),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """One item of an order.

    Attributes:
        discount: of the whole item; 0 for none.
        percent: of the discount; 0 if it is printed without.
    """

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


@dataclass(frozen=True, slots=True)
class Order:
    """Line items of one document.

    Attributes:
        currency: of all amounts.
        other, rate: currency in which amounts are additionally printed, and its units for 100 units of `currency`; None
            and 0 for documents in one currency.
    """

    items: tuple[LineItem, ...]
    currency: Currency
    other: Currency | None
    rate: int

    @property
    def subtotal(self) -> int:
        """Sum of the prices, with all discounts taken off."""
        return sum(item.price - item.discount for item in self.items)

    def converted(self, amount: int) -> str:
        """An amount in the other currency, as it is printed; empty if there is no other currency."""
        return self.other.written(round(amount * self.rate / 100)) if self.other else ""


def invent_order(random: Random) -> Order:
    """An order of two to seven items; a quarter of the orders is in two currencies, half of them have discounts."""
    currency = random.choice(CURRENCIES)
    others = [other for other in CURRENCIES if other.decimals and other is not currency]
    other = random.choice(others) if currency.decimals and random.random() < 0.25 else None
    discounted, detailed = random.choice((0.0, 0.4)), random.choice((0.2, 0.9))
    items = tuple(_item(random, currency, discounted, detailed) for _ in range(random.randint(2, 7)))
    return Order(items, currency, other, random.randrange(20, 900) if other else 0)


def ordered(bill: Bill, order: Order, random: Random) -> Bill:
    """The bill with the sums of an order in place of its own goods."""
    subtotal = order.subtotal
    total = subtotal + round(subtotal * random.choice((0.0, 0.05, 0.06, 0.1, 0.19)))
    cash = -(-total // _NOTE) * _NOTE
    amounts = {"subtotal": subtotal, "tax": total - subtotal, "total": total, "cash": cash, "change": cash - total}
    written = {name: order.currency.written(amount) for name, amount in amounts.items()}
    has_code = not order.currency.before and not order.currency.after and len(written["total"]) <= _LONGEST_WITH_CODE
    return replace(
        bill,
        goods=(),
        currency=order.currency.code if has_code and random.random() < 0.5 else "",
        other_currency=order.other.code if order.other else "",
        other_total=order.converted(total),
        **written,
    )


def _item(random: Random, currency: Currency, discounted: float, detailed: float) -> LineItem:
    """An item; `discounted` and `detailed` are the probabilities of a discount and of each detail of its name."""
    details = [random.choice(kind) for kind in _ATTRIBUTES if random.random() < detailed]
    name = " ".join([random.choice(GOODS), *details])
    count = random.choice((1, 1, 1, 2, 3, 4, 6, 12))
    unit_price = random.randrange(currency.least, currency.most, currency.step)
    discount, percent = 0, 0
    if random.random() < discounted:
        percent = random.choice((5, 10, 20, 50))
        discount = max(count * unit_price * percent // 100 // currency.step, 1) * currency.step
    code = str(random.randint(1000, 999999))
    return LineItem(
        name=name,
        code=code,
        count=count,
        unit_price=unit_price,
        discount=discount,
        percent=percent * random.randrange(2),
    )
