"""Whole documents: receipts, invoices and their relatives, statements, letters and forms, made of random blocks."""

from collections.abc import Callable
from functools import partial
from random import Random

from layoutray.synthetic import blocks
from layoutray.synthetic.bills import invent_bill
from layoutray.synthetic.canvas import Canvas, Face, Side, by_rows
from layoutray.synthetic.sheet import Column, Sheet, printer
from layoutray.synthetic.sums import account, sums, tax_summary
from layoutray.synthetic.tables import TABLES, columns

FAMILIES = ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono", "STIXGeneral")
TALL = 3400
A4 = 1.414
"""Height of a sheet as a share of its width."""
_SIDES: tuple[Side, ...] = ("left", "centre", "right")

Layout = Callable[[Column], None]
"""Draws a document below the first line of a column as wide as the page."""


def receipt(column: Column) -> None:
    """A till roll: head, numbers and dates, goods, sums, and what tills print below; the numbers may be below too."""
    sheet = column.sheet
    if sheet.chance(0.1):
        blocks.note(column, Face("DejaVuSans", 24))
    side: Side = sheet.random.choice(("centre", "centre", "centre", "left"))
    blocks.company(column, side)
    dashed = sheet.chance(0.6)
    column.skip(sheet.random.choice((0, 0.5, 1)))
    if sheet.chance(0.6):
        blocks.title(
            column, "receipt", sheet.random.choice(("centre", "centre", "left")), sheet.random.choice((1.0, 1.2))
        )
    shares = {"date": 1.0, "number": 0.85, "time": 0.5, "clerk": 0.5, "customer_number": 0.2, "order_number": 0.2}
    kinds = [kind for kind in sheet.pending(*shares) if sheet.chance(shares[kind])]
    later = sheet.random.choice((0, 0, 0, len(kinds), sheet.random.randint(0, len(kinds))))
    _numbers(column, kinds[later:])
    if sheet.chance(0.12):
        blocks.customer(column)
    column.rule(dashed)
    sheet.random.choice(TABLES)(column)
    sums(column, receipt=True)
    for share, block in ((0.35, tax_summary), (0.05, blocks.barcode)):
        if sheet.chance(share):
            column.rule(dashed)
            block(column)
    _numbers(column, kinds[:later])
    for _ in range(sheet.random.randint(0, 4)):
        column.write(sheet.words("thanks"), side=side)
    if sheet.chance(0.2):
        _numbers(column, ["date", "time"])


def _numbers(column: Column, kinds: list[str]) -> None:
    """Numbers and dates of a receipt, often without their labels."""
    if kinds:
        (blocks.bare if column.sheet.chance(0.2) else blocks.pairs)(column, kinds)


def invoice(column: Column, of: str = "invoice") -> None:
    """A head, the customer, numbers and dates, goods, sums beside or above how to pay, and a footer."""
    sheet = column.sheet
    head(column, of)
    kinds = {"date", *sheet.random.sample(NUMBERS[of], sheet.random.randint(1, min(6, len(NUMBERS[of]))))}
    if sheet.chance(0.7):
        kinds.add("number")
    parties(column, sheet.pending(*sorted(kinds)))
    column.skip()
    if sheet.chance(0.3):
        blocks.paragraph(column, "sentences", 1)
        column.skip()
    (columns if sheet.chance(0.8) else sheet.random.choice(TABLES))(column)
    if of != "delivery" or sheet.chance(0.3):
        _below_goods(column)
    _foot(column)


def _foot(column: Column) -> None:
    """A footer below the last line, or at the bottom of the sheet."""
    sheet = column.sheet
    column.skip(sheet.random.choice((1, 2, 4)))
    if sheet.chance(0.6):
        column.y = max(column.y, A4 * sheet.canvas.width - 9 * sheet.face.leading)
    blocks.footer(column)


NUMBERS = {
    "invoice": [
        "number", "due_date", "order_number", "order_date", "customer_number", "delivery_date", "payment_method",
        "clerk", "total", "tax_number",
    ],
    "delivery": ["delivery_number", "number", "order_number", "delivery_date", "customer_number", "clerk"],
    "order": ["order_number", "number", "delivery_date", "customer_number", "clerk", "payment_method"],
    "statement": ["customer_number", "number", "due_date", "currency", "clerk"],
}  # fmt: skip
"""Numbers and dates that a document may state, by its kind."""


def head(column: Column, of: str) -> None:
    """The company on either side or in the middle, with or without the title beside it, or a logo alone."""
    sheet = column.sheet
    large, style = sheet.random.choice((1.4, 1.8, 2.4)), sheet.random.randrange(5)
    if style < 2:
        parts = column.split(0.55)
        blocks.company(parts[style], "left" if style == 0 else sheet.random.choice(("left", "right")))
        blocks.title(parts[1 - style], of, "right" if style == 0 else "left", large)
        column.below(parts)
    elif style < 4:
        if style == 2:
            blocks.company(column, sheet.random.choice(_SIDES))
        else:  # the company is in the footer
            blocks.logo(column, sheet.random.choice(_SIDES))
        column.skip()
        blocks.title(column, of, sheet.random.choice(_SIDES), large)
    else:
        blocks.title(column, of, sheet.random.choice(_SIDES), large)
        blocks.company(column, sheet.random.choice(_SIDES))
    if sheet.chance(0.3):
        column.rule()
    column.skip(sheet.random.choice((0.5, 1, 2)))


def parties(column: Column, kinds: list[str]) -> None:
    """The customer on one side, numbers and dates or another address on the other side or below."""
    sheet = column.sheet
    parts = column.split(sheet.random.choice((0.45, 0.5, 0.6)))
    at = 0 if sheet.chance(0.75) else 1
    blocks.customer(parts[at])
    beside = sheet.chance(0.6)
    if beside:
        sheet.random.choice((blocks.lines, blocks.aligned, blocks.aligned))(parts[1 - at], kinds)
    elif sheet.chance(0.5):
        blocks.ship_to(parts[1 - at])
    column.below(parts)
    if not beside:
        column.skip()
        sheet.random.choice((blocks.above, blocks.above, blocks.in_pairs, blocks.aligned))(column, kinds)


def _below_goods(column: Column) -> None:
    sheet = column.sheet
    left, right = column.split(sheet.random.choice((0.4, 0.5)))
    if sheet.chance(0.6):
        sums(right, receipt=False)
        if sheet.chance(0.5):
            blocks.bank(left)
        elif sheet.chance(0.5):
            blocks.paragraph(left, "notes", 1)
        column.below((left, right))
    else:
        sums(column, receipt=False)
    column.skip()
    if sheet.chance(0.2):
        tax_summary(column)
        column.skip()
    if sheet.chance(0.6):
        blocks.paragraph(column, "notes", sheet.random.randint(1, 3))
    if sheet.chance(0.3):
        blocks.bank(column)


def statement(column: Column) -> None:
    """A head, the customer, entries with dates and balances, and what is due."""
    sheet = column.sheet
    head(column, "statement")
    parties(column, sheet.pending("date", *sheet.random.sample(NUMBERS["statement"], sheet.random.randint(1, 4))))
    column.skip()
    account(column)
    blocks.pairs(column.split(0.5)[1] if sheet.chance(0.5) else column, ["total"])
    column.skip(3)
    blocks.paragraph(column, "notes", 2)
    _foot(column)


def letter(column: Column) -> None:
    """A head, the customer, the date, and sentences that state values."""
    sheet = column.sheet
    blocks.company(column, sheet.random.choice(_SIDES))
    column.skip(2)
    parts = column.split(0.55)
    blocks.customer(parts[0])
    if sheet.chance(0.5):
        blocks.lines(parts[1], sheet.random.sample(["customer_number", "number", "clerk", "phone", "email"], 2))
    column.below(parts)
    column.skip()
    city = sheet.random.choice(sheet.bill.country.cities).split("|")[0]
    dated = [(f"{city},", ""), *sheet.value("date")] if sheet.chance(0.5) else sheet.labelled("date")
    column.write(dated, side=sheet.random.choice(_SIDES))
    column.skip()
    column.write(sheet.random.choice(sheet.bill.phrases["titles"]["order"]), sheet.face.bold)
    column.skip()
    column.write(blocks.filled(sheet, sheet.words("greetings")))
    for _ in range(sheet.random.randint(1, 3)):
        column.skip(0.5)
        blocks.paragraph(column, "sentences", sheet.random.randint(2, 4))
    column.skip()
    column.write(sheet.words("closings"))
    column.skip(2)
    column.write(sheet.value("clerk"))
    _foot(column)


def form(column: Column) -> None:
    """A title, the company or not, and entries in sections, on lines or in frames."""
    sheet = column.sheet
    if sheet.chance(0.8):
        blocks.company(column, sheet.random.choice(_SIDES))
        column.skip()
    blocks.title(column, "form", sheet.random.choice(_SIDES), 1.4)
    column.skip()
    kinds = sheet.pending(
        "date", "name", "customer_address", "number", "phone", "email", "total", "due_date", "order_number", "tax",
        "customer_number", "clerk", "payment_method", "currency", "delivery_date",
    )[: sheet.random.randint(6, 12)]  # fmt: skip
    while kinds:
        part = kinds[: sheet.random.randint(3, 6)]
        kinds = kinds[len(part) :]
        if sheet.chance(0.5):
            column.write(sheet.words("sections"), sheet.face.bold)
            column.skip(0.3)
        sheet.random.choice((blocks.above, blocks.entries, blocks.entries, blocks.aligned))(column, part)
        column.skip()
    if sheet.chance(0.5):
        blocks.paragraph(column, "notes", 1)


order, delivery = partial(invoice, of="order"), partial(invoice, of="delivery")
"""An order, an offer or a confirmation, and a delivery note, mostly without sums."""
LAYOUTS: tuple[tuple[Layout, float], ...] = (
    (receipt, 0.40), (invoice, 0.32), (form, 0.08), (letter, 0.07), (statement, 0.05), (order, 0.04), (delivery, 0.04),
)  # fmt: skip
"""All kinds of documents and their shares of pages."""
WITH_GOODS: tuple[Layout, ...] = (receipt, receipt, invoice, order)
"""The kinds that draw goods and sums."""


def draw(random: Random, layout: Layout, itemised: bool = False) -> tuple[Canvas, int]:
    """A page of one kind; returns it with the used height in pixels."""
    narrow = layout is receipt
    column = first_column(random, narrow, itemised)
    sheet, canvas = column.sheet, column.sheet.canvas
    layout(column)
    canvas.values = sheet.printed_values()
    if narrow and random.random() < 0.15:
        blocks.stamp(sheet, (canvas.width * random.uniform(0.4, 0.8), column.y * random.uniform(0.6, 0.9)))
    if random.random() < 0.6:
        canvas.marks = by_rows(canvas.marks)
    used = round(column.y + random.uniform(20, 120))
    return canvas, used if narrow or random.random() < 0.3 else max(used, round(A4 * canvas.width))


def first_column(random: Random, narrow: bool, itemised: bool, goods: int = 0) -> Column:
    """The column of a new sheet with a new document of `goods` items; see `invent_bill`."""
    width = random.randrange(560, 1000, 8) if narrow else random.randrange(1000, 1300, 8)
    family = random.choice(("DejaVuSansMono", "DejaVuSansMono", *FAMILIES) if narrow else FAMILIES)
    columns_of_text = random.uniform(30, 46) if narrow else random.uniform(60, 85)
    canvas = Canvas(width, TALL, printer(random, upper=0.6 if narrow else 0.08))
    margin = width * random.uniform(0.03, 0.1)
    size = round((width - 2 * margin) / columns_of_text / Face(family, 100).width("n") * 100)
    sheet = Sheet(
        canvas=canvas,
        bill=invent_bill(random, goods),
        random=random,
        face=Face(family, max(size, 13)),
        end=random.choice((":", ":", " :", "", "", " -")),
        upper=random.random() < 0.15,
        itemised=itemised,
    )
    return Column(sheet, margin, width - margin, 60 + random.uniform(0, 60))
