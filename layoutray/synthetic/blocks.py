"""Blocks of documents: the company, its customer, numbers and dates beside their labels, banks, footers and marks.

A block writes into a column from its present line on. Which values it has, and how they are placed, is random.
"""

from collections.abc import Callable, Sequence

from layoutray.synthetic.canvas import Face, Run, Side
from layoutray.synthetic.country import brand
from layoutray.synthetic.sheet import Column, Sheet

CONTACTS = ("phone", "fax", "email", "website", "tax_number")
BANK = ("bank", "iban", "bic")

_REGISTERED = ("({})", "({})", "{}", "Reg. No {}", "(Co. Reg. No. {})", "(Reg No: {})", "Co No: {}")


def company(column: Column, side: Side) -> None:
    """A logo or not, the company with its registration number, its address, and how to reach it."""
    sheet = column.sheet
    if sheet.chance(0.15):
        logo(column, side)
    large = sheet.random.choice((1.0, 1.0, 1.2, 1.4))
    name: list[Run] = sheet.value("company")
    registered = sheet.random.choice(_REGISTERED).format(sheet.bill.values["registration_number"])
    if sheet.chance(0.5):
        sheet.printed.add("registration_number")
        name.append((("\n" if sheet.chance(0.6) else "") + registered, "registration_number"))
    column.write(name, (sheet.face.bold if sheet.chance(0.6) else sheet.face).scaled(large), side)
    if sheet.chance(0.1):
        column.write(f"({brand(sheet.random)} {brand(sheet.random)})", side=side)
    column.write(sheet.value("address"), side=side)
    if sheet.chance(0.2):
        column.skip(0.5)
    contacts(column, sheet.pending(*CONTACTS)[: sheet.random.choice((0, 1, 1, 2, 2, 3, 4))], side)


def contacts(column: Column, kinds: Sequence[str], side: Side) -> None:
    """Values with or without labels, one or two on a line."""
    sheet = column.sheet
    two = sheet.chance(0.25)
    for number, kind in enumerate(kinds):
        bare = kind in ("email", "website", "phone") and sheet.chance(0.4)
        runs = sheet.value(kind) if bare else sheet.labelled(kind)
        if two and number + 1 < len(kinds) and number % 2 == 0:
            continue
        if two and number % 2:
            runs = [*sheet.labelled(kinds[number - 1]), *runs]
        column.write(runs, side=side)


def logo(column: Column, side: Side) -> None:
    """A word that is no value, in large letters or white in a dark box."""
    sheet = column.sheet
    face = sheet.face.bold.scaled(sheet.random.uniform(1.5, 2.5))
    column.y += face.leading - sheet.face.leading
    column.write(brand(sheet.random), face, side)


def customer(column: Column) -> None:
    """The customer and its address below or beside a label, or without."""
    sheet = column.sheet
    if sheet.chance(0.75):
        bold = sheet.face.bold if sheet.chance(0.5) else sheet.face
        column.write(sheet.label("name"), bold)
    if sheet.chance(0.1):
        column.write(sheet.random.choice(("Herrn", "Frau", "Attn:", "Mr", "Ms", "T.a.v.", "c/o")))
    column.write(sheet.value("name"))
    column.write(sheet.value("customer_address"))
    extra = sheet.pending("customer_number", "customer_tax_number")[: sheet.random.choice((0, 0, 1))]
    contacts(column, extra, "left")


def ship_to(column: Column) -> None:
    """Where the goods go: the customer again, and an address."""
    sheet = column.sheet
    column.write(sheet.label("delivery_address"), sheet.face.bold if sheet.chance(0.5) else sheet.face)
    if sheet.chance(0.5):
        column.write(sheet.value("name"))
    column.write(sheet.value("delivery_address"))


def title(column: Column, of: str, side: Side, large: float) -> None:
    """The kind of the document; the number is behind it on some."""
    sheet = column.sheet
    runs: list[Run] = [(sheet.random.choice(sheet.bill.phrases["titles"][of]), "")]
    if "number" not in sheet.printed and sheet.chance(0.2):
        runs += [(sheet.random.choice(("", "", "No.", "#", "Nr.")), ""), *sheet.value("number")]
        if sheet.chance(0.3):
            runs += sheet.labelled("date")
    face = (sheet.face.bold if sheet.chance(0.7) else sheet.face).scaled(large)
    column.y += max(face.leading - sheet.face.leading, 0)
    column.write(runs, face, side)


def lines(column: Column, kinds: Sequence[str]) -> None:
    """A pair of label and value on each line, each behind the other."""
    for kind in kinds:
        column.write(column.sheet.labelled(kind))


def aligned(column: Column, kinds: Sequence[str]) -> None:
    """Labels, and values in a column of their own, from its left or to its right."""
    sheet = column.sheet
    labels = [sheet.label(kind) for kind in kinds]
    face = sheet.face.bold if sheet.chance(0.3) else sheet.face
    widest = max((face.width(sheet.canvas.letters(label)) for label in labels), default=0)
    start = column.left + min(widest + sheet.face.size, 0.6 * column.room)
    side: Side = "right" if sheet.chance(0.3) else "left"
    colon = not sheet.end and sheet.chance(0.5)
    for label, kind in zip(labels, kinds, strict=True):
        column.cell(column.left, start, [(label, "")], face)
        column.cell(start, column.right, [(":", "")] * colon + sheet.value(kind), side=side)
        column.skip()


def in_pairs(column: Column, kinds: Sequence[str]) -> None:
    """Two pairs on each line."""
    for number in range(0, len(kinds), 2):
        parts = column.split(0.5)
        for part, kind in zip(parts, kinds[number : number + 2], strict=False):
            part.cell(part.left, part.right, column.sheet.labelled(kind))
        column.skip()


def in_a_row(column: Column, kinds: Sequence[str]) -> None:
    """All pairs behind each other."""
    column.write([run for kind in kinds for run in column.sheet.labelled(kind)])


def bare(column: Column, kinds: Sequence[str]) -> None:
    """Values without labels, as tills print them."""
    for number in range(0, len(kinds), 3):
        column.write([run for kind in kinds[number : number + 3] for run in column.sheet.value(kind)])


def above(column: Column, kinds: Sequence[str]) -> None:
    """Labels above their values, side by side, in frames or not."""
    sheet = column.sheet
    many = max(1, min(len(kinds), int(column.room / (10 * sheet.face.size))))
    framed, small = sheet.chance(0.5), sheet.face.scaled(sheet.random.choice((0.8, 1.0)))
    bold = small.bold if sheet.chance(0.5) else small
    for number in range(0, len(kinds), many):
        row = kinds[number : number + many]
        room, top = column.room / many, column.y - sheet.face.leading
        for place, kind in enumerate(row):
            column.cell(
                column.left + place * room + 4,
                column.left + (place + 1) * room - 4,
                [(sheet.wording(kind, room - 8), "")],
                bold,
            )
        column.skip()
        for place, kind in enumerate(row):
            column.cell(column.left + place * room + 4, column.left + (place + 1) * room - 4, sheet.value(kind))
        column.skip(1.3)
        if framed:
            for place in range(len(row)):
                corner = (column.left + place * room, top + 2)
                sheet.canvas.frame(corner, (column.left + (place + 1) * room, column.y - sheet.face.leading), 1)


def entries(column: Column, kinds: Sequence[str]) -> None:
    """Entries of a form: values on lines, one below the other."""
    sheet = column.sheet
    start = column.left + 0.4 * column.room
    for kind in kinds:
        column.cell(column.left, start, [(sheet.label(kind), "")])
        column.cell(start + 8, column.right, sheet.value(kind))
        sheet.canvas.rule((start, column.y + 8), (column.right, column.y + 8), 1)
        column.skip(1.6)


PAIRS: tuple[Callable[[Column, Sequence[str]], None], ...] = (lines, aligned, in_pairs, in_a_row, above)
"""How values stand at their labels."""


def pairs(column: Column, kinds: Sequence[str]) -> None:
    """Values at their labels, in one of these ways."""
    column.sheet.random.choice(PAIRS)(column, kinds)


def bank(column: Column) -> None:
    """Where to pay."""
    contacts(column, column.sheet.pending(*BANK), "left")


def footer(column: Column) -> None:
    """What the head does not have, in one to three columns of small letters or in one paragraph, and a page number."""
    sheet = column.sheet
    sheet.face, body = sheet.face.scaled(0.8), sheet.face
    column.rule()
    kinds = sheet.pending(*CONTACTS, *BANK, "registration_number")
    if "company" in sheet.printed and sheet.chance(0.5):
        column.write(
            [run for kind in kinds for run in sheet.labelled(kind)], side=sheet.random.choice(("left", "centre"))
        )
    else:
        _footer_columns(column, kinds)
    if sheet.chance(0.5):
        column.write(sheet.words("page"), side=sheet.random.choice(("centre", "right")))
    sheet.face = body


def _footer_columns(column: Column, kinds: Sequence[str]) -> None:
    sheet = column.sheet
    first, rest = column.split(0.34)
    parts = [first, *rest.split(0.5)]
    if "company" not in sheet.printed or sheet.chance(0.5):
        first.write(sheet.value("company"))
        first.write(sheet.value("address"))
    for number, kind in enumerate(kinds):
        parts[1 + number % 2].write(sheet.labelled(kind))
    column.below(parts)


def paragraph(column: Column, of: str, count: int) -> None:
    """Different sentences, with values filled in."""
    sheet = column.sheet
    texts = sheet.bill.phrases[of]
    runs = [run for text in sheet.random.sample(texts, min(count, len(texts))) for run in filled(sheet, text)]
    column.write(runs)


def filled(sheet: Sheet, text: str) -> list[Run]:
    """The runs of a sentence with names of kinds in braces. Punctuation behind a value is a part of its word."""
    runs: list[Run] = []
    for word in text.split():
        before, brace, rest = word.partition("{")
        if not brace:
            runs.append((word, ""))
            continue
        kind, _, after = rest.partition("}")
        found = sheet.value(kind)
        found[0] = (before + found[0][0], found[0][1])
        found[-1] = (found[-1][0] + after, found[-1][1])
        runs += found
    return runs


def barcode(column: Column) -> None:
    """Bars of random widths."""
    sheet = column.sheet
    x, end = column.left + 0.25 * column.room, column.right - 0.25 * column.room
    while x < end:
        thick = sheet.random.choice((1, 1, 2, 4))
        sheet.canvas.pen.rectangle(
            (x, column.y - sheet.face.size, x + thick, column.y + 1.5 * sheet.face.size), fill=20
        )
        x += thick + sheet.random.choice((2, 3, 5))
    column.skip(3)


def stamp(sheet: Sheet, middle: tuple[float, float]) -> None:
    """A circle with a number or a word by hand, which is no word of the page."""
    x, y = middle
    wide, high = sheet.random.randint(50, 110), sheet.random.randint(35, 70)
    sheet.canvas.pen.ellipse((x - wide, y - high, x + wide, y + high), outline=sheet.random.randint(90, 170), width=3)


def note(column: Column, face: Face) -> None:
    """A name that somebody has put above the document."""
    sheet = column.sheet
    column.write(sheet.bill.country.person(sheet.random), face, sheet.random.choice(("left", "centre")))
    column.skip(sheet.random.choice((1, 3)))
