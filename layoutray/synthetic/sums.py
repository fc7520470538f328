"""The sums of a document, the tax by rate, and the entries of a statement."""

from datetime import date, timedelta

from layoutray.synthetic.canvas import Run, Side
from layoutray.synthetic.sheet import Column, Sheet, amount

_NOTHING = ("0.00", "0,00")
_SHARES = {"subtotal": (0.7, 0.7), "discount": (0.5, 0.1), "shipping": (1.0, 0.05), "tax": (0.75, 0.4)}
"""Shares of pages that have an amount: if it is not nothing, and if it is."""


def sums(column: Column, receipt: bool, checkable: bool = False) -> None:
    """What comes before the total, the total, and how it was paid; if `checkable`, with a subtotal and a rounding."""
    sheet = column.sheet
    before = [kind for kind, share in _SHARES.items() if sheet.chance(share[sheet.bill.values[kind] in _NOTHING])]
    rounded = sheet.bill.values["rounding"] not in _NOTHING
    rounds = sheet.chance(0.5 if rounded else 0.08)
    if checkable:
        before, rounds = ["subtotal", *(kind for kind in before if kind != "subtotal")], rounded
    rows = [*before, *(["rounding"] if rounds else []), "total"]
    after = ["paid", "change"] if sheet.chance(0.75 if receipt else 0.1) else []
    start = _start(column, receipt)
    side: Side = "right" if sheet.chance(0.3) else "left"
    dots = sheet.chance(0.1)
    value_face = sheet.face.scaled(sheet.random.choice((1.0, 1.0, 1.2, 1.5)))
    if rounds and sheet.chance(0.7):
        rows.insert(len(before), "before_rounding")
    for kind in [*rows, *after]:
        face = value_face if kind == "total" else sheet.face
        face = face.bold if kind == "total" and sheet.chance(0.6) else face
        runs = _runs(sheet, kind)
        wide = face.width(" ".join(text for text, _ in runs)) + face.size
        end = max(column.right - wide, start + 4 * face.size)
        column.y += face.leading - sheet.face.leading
        label = _label(sheet, kind, 0.9 * (end - start))
        if dots:
            room = end - start - face.width(sheet.canvas.letters(" ".join(text for text, _ in label)))
            label.append(("." * int(0.8 * room / face.width(".")), ""))
        column.cell(start, end, label, face, side)
        column.cell(end, column.right, runs, face, "right")
        column.skip()
    if sheet.bill.other_total:
        code = sheet.bill.order.other.code if sheet.bill.order.other else ""
        column.cell(start, column.right, [(f"{code} {sheet.bill.other_total}", "")], side="right")
        column.skip()


def _start(column: Column, receipt: bool) -> float:
    """Where the labels begin: at the left of a receipt, or near their amounts."""
    sheet = column.sheet
    wide = column.room > 45 * sheet.face.size
    shares = (0.0, 0.45, 0.55, 0.6) if wide else (0.0, 0.0, 0.0, 0.2, 0.35 * receipt)
    return column.left + sheet.random.choice(shares) * column.room


def _runs(sheet: Sheet, kind: str) -> list[Run]:
    if kind == "before_rounding":
        before = sheet.bill.before_rounding
        return amount(sheet.bill.pattern, before, "total" if before == sheet.bill.values["total"] else "")
    return sheet.value(kind)


def _label(sheet: Sheet, kind: str, room: float) -> list[Run]:
    """The label, with the rate of a tax, or with the currency of a total."""
    kind = {"before_rounding": "total"}.get(kind, kind)
    label = sheet.wording(kind, 0.8 * room)
    if kind == "tax" and sheet.chance(0.5):
        rate = sheet.bill.values["tax_rate"]
        sheet.printed.add("tax_rate")
        return [(label, ""), (sheet.random.choice(("{}", "@{}", "({})", "@ {}")).format(rate) + sheet.end, "tax_rate")]
    if kind in ("total", "subtotal") and sheet.chance(0.2):
        currency = sheet.random.choice(("({})", "{}", "({})")).format(sheet.bill.values["currency"])
        return [(label, ""), (currency + sheet.end, "")]
    return [(label + sheet.end, "")]


def tax_summary(column: Column) -> None:
    """A small table of rates, amounts and taxes, which are no values of the document."""
    sheet, values = column.sheet, column.sheet.bill.values
    code = sheet.random.choice(("SR", "S", "A", "T1", ""))
    column.write(sheet.words("summary"))
    rows = [[code, values["tax_rate"], values["subtotal"], values["tax"]]]
    heads = [sheet.wording(kind, column.room / 4 - 6) for kind in ("tax_rate", "subtotal", "tax")]
    for row in [["", *heads], *rows]:
        for place, text in enumerate(row):
            room = column.room / 4
            column.cell(
                column.left + place * room,
                column.left + (place + 1) * room - 6,
                [(text, "")],
                side="right" if place else "left",
            )
        column.skip()


def account(column: Column) -> None:
    """The entries of a statement: dates, numbers, amounts and balances, of which none is a value of the document."""
    sheet, random = column.sheet, column.sheet.random
    country = sheet.bill.country
    day, pattern, balance = date(2015, 1, 1) + timedelta(days=random.randrange(3000)), random.choice(country.dates), 0
    heads = [sheet.wording(kind, column.room / 4 - 8) for kind in ("date", "number", "total", "change")]
    rows = [heads]
    for _ in range(random.randint(2, 9)):
        paid = random.randrange(-90000, 90000)
        balance += paid
        rows.append(
            [
                country.written(day, pattern),
                str(random.randrange(10000, 99999)),
                *map(country.currency.written, (paid, balance)),
            ]
        )
        day += timedelta(days=random.randint(1, 20))
    room = column.room / 4
    for number, row in enumerate(rows):
        for place, text in enumerate(row):
            face = sheet.face if number else sheet.face.bold
            column.cell(
                column.left + place * room,
                column.left + (place + 1) * room - 8,
                [(text, "")],
                face,
                "right" if place > 1 else "left",
            )
        column.skip()
    column.rule()
