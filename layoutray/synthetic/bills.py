"""Invented documents: values of all kinds that a page may print, with consistent amounts and dates."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from layoutray.synthetic.country import Country, brand, countries
from layoutray.synthetic.items import Currency, Order, invent_items
from layoutray.synthetic.wordings import data, wordings

_FIRST_DAY, _DAYS = date(2008, 1, 1), 6800
_BANKS = ("{brand} Bank", "{brand} National Bank", "Bank {brand}", "{brand} Savings Bank", "{brand}bank")
_DOMAINS = (".com", ".com", ".example", ".net", ".org", ".eu")
_COINS = 5
"""Totals are rounded to it, in minor units, in currencies without smaller coins."""
_ROUNDED = ("MYR", "SGD")
_NUMBERS = (
    "######", "#####", "@######", "INV-#####", "{yyyy}-#####", "{yyyy}/####", "@@########", "CS000#####", "R0000#####",
    "#####/###/@####", "{yyyy}{mm}-####", "0#-######", "IN-##########", "#####-@", "F{yyyy}/###", "RE-#######",
)  # fmt: skip
_OTHER_NUMBERS = ("#####", "########", "@@-####", "PO-#####", "#-######-#", "K#####", "4500######", "{yyyy}-####")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """All data that a page may print.

    Attributes:
        values: by kind. A line break separates the lines of an address; amounts have no sign of a currency.
        pattern: of a sum, with the sign of the currency.
        before_rounding: the total before it was rounded.
        other_total: the total in another currency; empty for none.
    """

    country: Country
    order: Order
    values: Mapping[str, str]
    pattern: str
    before_rounding: str
    other_total: str

    @property
    def phrases(self) -> Mapping[str, Any]:
        return data("phrases")[self.country.language]


def invent_bill(random: Random, goods: int = 0) -> Bill:
    """A document of a random country with random data, of `goods` items; of one to nine if that is 0."""
    known = [*countries().values()]
    country = random.choices(known, [one.weight for one in known])[0]
    order = _order(random, country, [one.currency for one in known if one.language != country.language], goods)
    rate = random.choice(country.rates)
    amounts = _amounts(random, order, rate)
    values = {kind: country.currency.written(amount) for kind, amount in amounts.items()}
    pattern = random.choice(country.amounts)
    sign = pattern.replace("{}", "").strip(" *")
    values |= {
        "tax_rate": f"{rate:g}".replace(".", country.currency.point) + random.choice(("%", "%", " %")),
        "currency": sign or country.currency.code,
    }
    return Bill(
        country=country,
        order=order,
        values=_company(random, country) | _customer(random, country) | _dates(random, country) | values,
        pattern=pattern,
        before_rounding=country.currency.written(amounts["total"] - amounts["rounding"]),
        other_total=order.converted(amounts["total"]),
    )


def any_day(random: Random) -> date:
    """A day between 2008 and 2026."""
    return _FIRST_DAY + timedelta(days=random.randrange(_DAYS))


def _order(random: Random, country: Country, others: list[Currency], goods: int) -> Order:
    """An order, of which a tenth is in two currencies."""
    phrases = data("phrases")[country.language]
    tight = [pattern for pattern in country.amounts if " " not in pattern]
    two = random.random() < 0.1
    return Order(
        items=invent_items(random, phrases, goods),
        currency=country.currency,
        pattern=random.choice(("{}", "{}", random.choice(tight))),
        other=random.choice(others) if two else None,
        rate=random.randrange(20, 900) if two else 0,
        headings=phrases["columns"],
        discount=random.choice(wordings()["discount"][country.language]),
    )


def _amounts(random: Random, order: Order, rate: float) -> dict[str, int]:
    """The sums of a document. Prices of goods include the tax on a half of the documents."""
    shipping = random.choice((0, 0, 0, 350, 590, 1200))
    gross = random.random() < 0.5
    before = order.sum + shipping
    tax = round(before * rate / (100 + rate) if gross else before * rate / 100)
    subtotal = before - tax if gross else before
    exact = subtotal + tax
    total = round(exact / _COINS) * _COINS if order.currency.code in _ROUNDED else exact
    note = random.choice((0, 100, 1000, 5000))
    paid = -(-total // note) * note if note else total
    return {
        "discount": sum(item.discount for item in order.items),
        "shipping": shipping,
        "subtotal": subtotal,
        "tax": tax,
        "rounding": total - exact,
        "total": total,
        "paid": paid,
        "change": paid - total,
    }


def _company(random: Random, country: Country) -> dict[str, str]:
    name = country.company(random)
    domain = "".join(filter(str.isascii, name.lower().split(" ")[0].strip(".&"))) + random.choice(_DOMAINS)
    return {
        "company": name,
        "address": _lines(random, country),
        "phone": country.filled(country.phones, random),
        "fax": country.filled(country.phones, random),
        "email": random.choice(("info", "sales", "office", "contact", brand(random).lower())) + "@" + domain,
        "website": random.choice(("www.", "www.", "http://www.", "")) + domain,
        "tax_number": country.filled(country.tax_numbers, random),
        "registration_number": country.filled(country.registration_numbers, random),
        "iban": country.filled(country.ibans, random),
        "bic": country.filled(("@@@@@@##", "@@@@@@#@", "@@@@@@##@@@"), random),
        "bank": country.filled(_BANKS, random),
        "clerk": random.choice((country.person(random), random.choice(country.forenames))),
    }


def _customer(random: Random, country: Country) -> dict[str, str]:
    return {
        "name": random.choice((country.person, country.company))(random),
        "customer_address": _lines(random, country),
        "delivery_address": _lines(random, country),
        "customer_tax_number": country.filled(country.tax_numbers, random),
        "customer_number": country.filled(_OTHER_NUMBERS, random, yyyy="2019"),
    }


def _dates(random: Random, country: Country) -> dict[str, str]:
    """Dates in one notation, the time, and numbers, some of which begin with the year."""
    issued = any_day(random)
    pattern = random.choice(country.dates)
    days = {
        "date": 0,
        "due_date": random.choice((7, 10, 14, 21, 30, 60)),
        "delivery_date": random.randint(-5, 9),
        "order_date": -random.randint(1, 20),
    }
    at = f"{random.randint(7, 22):02}:{random.randrange(60):02}"
    of_year = {"yyyy": str(issued.year), "mm": f"{issued:%m}"}
    return {kind: country.written(issued + timedelta(days=after), pattern) for kind, after in days.items()} | {
        "time": at + random.choice(("", "", f":{random.randrange(60):02}", random.choice((" AM", "PM", " Uhr", "h")))),
        "number": country.filled(_NUMBERS, random, **of_year),
        "order_number": country.filled(_OTHER_NUMBERS, random, **of_year),
        "delivery_number": country.filled(_OTHER_NUMBERS, random, **of_year),
        "payment_method": random.choice(("Visa", "Cash", "30 days", "Bank transfer", "PayPal", "Mastercard", "Net 30")),
    }


def _lines(random: Random, country: Country) -> str:
    """An address whose lines are joined by commas or not, with fewer line breaks on some pages."""
    comma, keep = random.choice((",", ",", "")), random.choice((1.0, 1.0, 0.6, 0.0))
    first, *others = country.address(random)
    for line in others:
        broken = random.random() < keep
        end = "" if first[-1] in ",." else comma if broken else ","
        first += end + ("\n" if broken else " ") + line
    return first
