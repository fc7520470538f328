"""Invented companies, people, goods and amounts for generated pages. None of them exists."""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random


def listed(text: str) -> tuple[str, ...]:
    """The parts of a list with commas."""
    return tuple(text.split(", "))


_STEMS = listed(
    "Abervale, Birchmoor, Calder, Dunmere, Elmstead, Fernhollow, Glenmar, Harrowby, Ironbridge, Juniper, Kestrel, "
    "Larkfield, Marlow, Northwick, Oakhurst, Pinecrest, Quillon, Redmarsh, Silverbrook, Thornbury, Umberly, "
    "Velmont, Westerly, Yarrow, Zephyr, Amberline, Bluestone, Coppergate, Driftwood"
)
_TRADES = listed(
    "Bakery, Books, Cafe, Electrics, Florist, Garage, Garden Centre, Grocers, Hardware, Kitchen, Market, Motors, "
    "Optics, Pharmacy, Print Shop, Stationers, Supplies, Tailors, Textiles, Timber, Tools, Trading, Transport, "
    "Wholesale"
)
_ENDINGS = ("Ltd", "Inc.", "GmbH", "& Sons", "Sdn Bhd", "Co.", "Group", "")
_STREETS = listed(
    "Anchor, Beacon, Chapel, Dover, Eastgate, Foundry, Granary, Harbour, Island, Kiln, Lantern, Meadow, Orchard, "
    "Priory, Quarry, River, Station, Tannery, Upper Mill, Valley, Willow"
)
_WAYS = ("Street", "Road", "Lane", "Avenue", "Square", "Drive")
_TOWNS = listed(
    "Arden Falls, Brookhaven, Carrow, Dellmont, Eastmere, Farrowdale, Grantham Bay, Holmwood, Kingsmarsh, "
    "Lindenau, Millbrook, Netherby, Port Sable, Ravenhill, Stonebridge, Tarn Valley, Westhaven"
)
_FORENAMES = listed(
    "Adela, Bastian, Corin, Dalia, Edwin, Fiora, Gareth, Helena, Ivor, Jolanda, Kasper, Leonie, Marten, Nadine, "
    "Orson, Petra, Quentin, Rosalie, Stefan, Tamsin, Ulrich, Verena, Wendel, Yvette"
)
_SURNAMES = listed(
    "Ashgrove, Bellwether, Corvane, Dunsley, Eldermoor, Farraday, Greymark, Hollins, Ingleton, Jessamy, Kirkwall, "
    "Lorrimer, Marchetti, Norfield, Ostrander, Penhallow, Quarles, Rookwood, Seldon, Tolvane, Underhill, "
    "Vantongen, Whitlock"
)
GOODS = listed(
    "Apple juice, Battery pack, Brown bread, Canvas bag, Ceramic mug, Cheddar, Coffee beans, Copper wire, Cotton "
    "towel, Desk lamp, Door hinge, Envelope set, Garden hose, Ginger tea, Glass jar, Green paint, Honey, Ink "
    "cartridge, Key copy, Lemon cake, Light bulb, Masking tape, Notebook, Oat flakes, Olive oil, Paper roll, "
    "Pencil box, Pillow, Rice noodles, Rope 10m, Sandwich, Screw set, Shelf board, Soap bar, Sponge, Tomato soup, "
    "USB cable, Vase, Washing powder, Wooden spoon"
)
_MONTHS = listed("January, February, March, April, May, June, July, August, September, October, November, December")
_FIRST_DAY, _DAYS = date(2015, 1, 1), 3600
_CURRENCIES = ("", "", "$", "EUR", "CHF")


@dataclass(frozen=True, slots=True)
class Good:
    """One row of a bill, with amounts as printed."""

    name: str
    quantity: int
    price: str
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """All data that a layout may print; a layout uses a part of it.

    Attributes:
        date, time, due: date and time of issue, and the date until which to pay (a distractor).
        home: address of the customer (a distractor).
        name, clerk: the customer, and the employee who served (a distractor).
        number, order: number of the document, and number of the order or account (a distractor).
        currency: printed before each amount: empty, a sign or a code.
        other_total, other_currency: the total in another currency (a distractor), and its code; empty for none.
    """

    company: str
    address: tuple[str, ...]
    home: tuple[str, ...]
    phone: str
    name: str
    clerk: str
    number: str
    order: str
    date: str
    time: str
    due: str
    currency: str
    goods: tuple[Good, ...]
    subtotal: str
    tax: str
    total: str
    cash: str
    change: str
    other_total: str = ""
    other_currency: str = ""


def invent_bill(random: Random) -> Bill:
    """A bill with random data and consistent amounts."""
    issued = _FIRST_DAY + timedelta(days=random.randrange(_DAYS))
    style = random.randrange(5)
    rows = [
        (random.choice(GOODS), random.choice((1, 1, 1, 2, 3, 4, 6)), random.randrange(80, 6000))
        for _ in range(random.randint(2, 8))
    ]
    subtotal = sum(quantity * price for _, quantity, price in rows)
    tax = round(subtotal * random.choice((0.05, 0.06, 0.07, 0.1, 0.19, 0.2)))
    cash = -(-(subtotal + tax) // 1000) * 1000
    return Bill(
        company=invent_company(random),
        address=invent_address(random),
        home=invent_address(random),
        phone=f"{random.randint(100, 999)}-{random.randint(100, 999)} {random.randint(1000, 9999)}",
        name=invent_person(random),
        clerk=random.choice(_FORENAMES),
        number=_number(random),
        order=str(random.randint(1000, 99999)),
        date=_written(issued, style),
        time=f"{random.randint(8, 20):02}:{random.randrange(60):02}",
        due=_written(issued + timedelta(days=random.choice((7, 14, 21, 30))), style),
        currency=random.choice(_CURRENCIES),
        goods=tuple(Good(name, quantity, _sum(price), _sum(quantity * price)) for name, quantity, price in rows),
        subtotal=_sum(subtotal),
        tax=_sum(tax),
        total=_sum(subtotal + tax),
        cash=_sum(cash),
        change=_sum(cash - subtotal - tax),
    )


def invent_company(random: Random) -> str:
    """The name of a company."""
    return f"{random.choice(_STEMS)} {random.choice(_TRADES)} {random.choice(_ENDINGS)}".strip()


def invent_address(random: Random) -> tuple[str, ...]:
    """Street and town."""
    street = f"{random.randint(1, 240)} {random.choice(_STREETS)} {random.choice(_WAYS)}"
    return street, f"{random.randint(10000, 99999)} {random.choice(_TOWNS)}"


def invent_person(random: Random) -> str:
    """Forename and surname."""
    return f"{random.choice(_FORENAMES)} {random.choice(_SURNAMES)}"


def invent_date(random: Random) -> str:
    """A date in one of five ways of writing."""
    return _written(_FIRST_DAY + timedelta(days=random.randrange(_DAYS)), random.randrange(5))


def _number(random: Random) -> str:
    digits = random.randint(10000, 999999)
    return random.choice(
        (f"{digits}", f"A{digits}", f"{random.randint(2015, 2024)}-{digits}", f"INV-{digits}", f"R{digits}")
    )


def _written(day: date, style: int) -> str:
    month = _MONTHS[day.month - 1]
    return (
        f"{day.day:02}/{day.month:02}/{day.year}",
        f"{day.year}-{day.month:02}-{day.day:02}",
        f"{day.day} {month[:3]} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day:02}.{day.month:02}.{day.year}",
    )[style]


def _sum(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"
