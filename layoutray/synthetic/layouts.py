"""Page layouts: three receipts, an invoice and two forms.

Each layout has distractors, e.g. a due date beside the date. Only its printed label tells a field from a distractor.
"""

from collections.abc import Callable
from random import Random

from layoutray.synthetic.canvas import Canvas, Face
from layoutray.synthetic.tables import MARGIN
from layoutray.synthetic.text import Bill

FIELDS = ("company", "date", "total", "address", "name", "number")
"""Kinds of entities that are the fields of a page."""
FAMILIES = ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono")
_TALL = 2400

Layout = Callable[[Bill, Random], tuple[Canvas, int]]
"""Draws a bill; returns the page and the used height in pixels."""
DrawGoods = Callable[[Canvas, Bill, int, Face], int]
"""Draws the goods of a bill below a position; returns the position of the next line."""


def plain_goods(canvas: Canvas, bill: Bill, y: int, face: Face) -> int:
    """Goods that are no entities, in a table with the columns item, quantity, price and amount."""
    right = canvas.width - MARGIN
    column = face.width("0000000.00")
    ends = (right - 2 * column, right - column, right)
    y += face.leading
    canvas.write((MARGIN, y), "Item", face.bold)
    for end, label in zip(ends, ("Qty", "Price", "Amount"), strict=True):
        canvas.write_right((end, y), label, face.bold)
    canvas.rule((MARGIN, y + 10), (right, y + 10))
    y += round(face.leading * 1.2)
    for good in bill.goods:
        canvas.write((MARGIN, y), good.name, face)
        for end, value in zip(ends, (str(good.quantity), good.price, good.amount), strict=True):
            canvas.write_right((end, y), value, face)
        y += face.leading
    canvas.rule((MARGIN, y - face.size // 2), (right, y - face.size // 2))
    return y + face.leading


def centred_receipt(bill: Bill, random: Random, draw_goods: DrawGoods = plain_goods) -> tuple[Canvas, int]:
    """A till receipt with a centred head above a table of goods."""
    face = _face(random)
    canvas = Canvas(random.randrange(800, 880, 8), _TALL)
    big = face.bold.scaled(1.35)
    y = 90
    canvas.write_centred(y, [bill.company], big, "company")
    y += big.leading
    canvas.write_centred(y, bill.address, face, "address")
    y += face.leading * len(bill.address)
    canvas.write_centred(y, [f"{random.choice(('Tel', 'Phone', 'Tel.'))} {bill.phone}"], face)
    y += 2 * face.leading
    y = _pairs(canvas, (MARGIN, y), _heading(bill, random), face)
    y = draw_goods(canvas, bill, y, face)
    y = _sums(canvas, bill, y, face, random)
    canvas.write_centred(
        y + face.leading,
        [random.choice(("Thank you for your visit", "Please come again", "Goods sold are not returnable"))],
        face,
    )
    return canvas, y + 3 * face.leading


def left_receipt(bill: Bill, random: Random, draw_goods: DrawGoods = plain_goods) -> tuple[Canvas, int]:
    """A left-aligned receipt with its number and date above the company or below the address."""
    face = _face(random)
    canvas = Canvas(random.randrange(800, 920, 8), _TALL)
    y = 80
    heading = _heading(bill, random)
    cut = random.randrange(len(heading))
    y = _pairs(canvas, (MARGIN, y), heading[:cut], face) + face.leading * bool(cut)
    big = face.bold.scaled(1.2)
    canvas.write((MARGIN, y), bill.company, big, "company")
    y += big.leading
    canvas.write((MARGIN, y), ", ".join(bill.address), face, "address")
    y += face.leading
    canvas.write((MARGIN, y), f"Tel {bill.phone}", face)
    y = _pairs(canvas, (MARGIN, y + 2 * face.leading), heading[cut:], face)
    y = draw_goods(canvas, bill, y, face)
    y = _sums(canvas, bill, y, face, random)
    return canvas, y + 2 * face.leading


def split_receipt(bill: Bill, random: Random, draw_goods: DrawGoods = plain_goods) -> tuple[Canvas, int]:
    """A receipt with the company on the left of its head, and number, date and time on the right."""
    face = _face(random).scaled(0.92)
    canvas = Canvas(random.randrange(920, 1000, 8), _TALL)
    y = 90
    canvas.write((MARGIN, y), bill.company, face.bold, "company")
    # The address has its line to itself: OCR reads line by line, and a value has to be contiguous in reading order.
    canvas.write((MARGIN, y + face.leading), ", ".join(bill.address), face, "address")
    right = canvas.width - MARGIN
    for line, (label, value, kind) in zip((0, 2, 3, 4), _heading(bill, random), strict=True):
        row = y + line * face.leading
        canvas.write_right((right, row), value, face, kind)
        canvas.write_right((right - face.width(value + "  "), row), label, face)
    y = draw_goods(canvas, bill, y + 6 * face.leading, face)
    y = _sums(canvas, bill, y, face, random)
    return canvas, y + 2 * face.leading


def invoice(bill: Bill, random: Random, draw_goods: DrawGoods = plain_goods) -> tuple[Canvas, int]:
    """An invoice: head, customer on the left, numbers and dates on the right, a table of goods, sums below."""
    face = _face(random).scaled(0.88)
    canvas = Canvas(random.randrange(920, 1000, 8), _TALL)
    big = face.bold.scaled(1.4)
    canvas.write((MARGIN, 90), bill.company, big, "company")
    canvas.write((MARGIN, 90 + big.leading), ", ".join(bill.address), face.scaled(0.95), "address")
    canvas.rule((MARGIN, 150), (canvas.width - MARGIN, 150), thickness=3)
    y = 210
    canvas.write((MARGIN, y), random.choice(("Invoice", "Bill", "Delivery note")), big)
    y += round(1.3 * big.leading)
    canvas.write((MARGIN, y), random.choice(("Bill to", "Customer", "Sold to")), face.bold)
    canvas.write((MARGIN, y + face.leading), bill.name, face, "name")
    canvas.write_block((MARGIN, y + 2 * face.leading), bill.home, face)
    _pairs(canvas, (canvas.width * 0.53, y), _data(bill, random), face)
    y = draw_goods(canvas, bill, y + 6 * face.leading, face)
    canvas.rule((MARGIN, y - face.leading), (canvas.width - MARGIN, y - face.leading))
    y = _sums(canvas, bill, y, face, random)
    canvas.write((MARGIN, y + face.leading), f"Questions? Ask {bill.clerk} on {bill.phone}.", face)
    return canvas, y + 3 * face.leading


def boxed_form(bill: Bill, random: Random) -> tuple[Canvas, int]:
    """A form of framed cells with a small label above each value."""
    face = _face(random)
    canvas = Canvas(random.randrange(880, 1000, 8), _TALL)
    y = _form_head(canvas, bill, face, random)
    cells = [
        (random.choice(("Name", "Full name", "Applicant", "Customer name")), bill.name, "name"),
        *_data(bill, random),
        ("Contact person", f"{bill.clerk}", ""),
        ("Phone", bill.phone, ""),
        (_total_label(random), _priced(bill, bill.total), "total"),
        (random.choice(("Deposit", "Fee paid", "Tax")), bill.tax, ""),
    ]
    random.shuffle(cells)
    half, high = (canvas.width - 2 * MARGIN) / 2, face.leading * 2.3
    for index, (label, value, kind) in enumerate(cells):
        x, top = MARGIN + index % 2 * half, y + index // 2 * high
        canvas.frame((x, top), (x + half, top + high))
        canvas.write((x + 14, top + face.leading * 0.8), label, face.scaled(0.8))
        canvas.write((x + 14, top + face.leading * 1.8), value, face, kind)
    y += round(high * -(-len(cells) // 2)) + 2 * face.leading
    canvas.write((MARGIN, y), "Signature", face)
    canvas.rule((MARGIN + 160, y), (MARGIN + 520, y))
    return canvas, y + 2 * face.leading


def lined_form(bill: Bill, random: Random) -> tuple[Canvas, int]:
    """A form of rows with a label and a value on a line."""
    face = _face(random)
    canvas = Canvas(random.randrange(896, 960, 8), _TALL)
    y = _form_head(canvas, bill, face, random) + face.leading
    rows = [
        (random.choice(("Name:", "Applicant:", "Member name:")), bill.name, "name"),
        ("Home address:", ", ".join(bill.home), ""),
        *_data(bill, random),
        (_total_label(random) + ":", bill.total, "total"),
        ("Of which tax:", bill.tax, ""),
        ("Handled by:", bill.clerk, ""),
    ]
    start = MARGIN + max(face.bold.width(label) for label, _, _ in rows) + 24
    step = round(face.leading * random.uniform(1.3, 1.7))
    for label, value, kind in rows:
        canvas.write((MARGIN, y), label, face.bold)
        canvas.write((start + 8, y), value, face, kind)
        canvas.rule((start, y + 8), (canvas.width - MARGIN, y + 8), thickness=1)
        y += step
    return canvas, y + face.leading


LAYOUTS: tuple[Layout, ...] = (centred_receipt, left_receipt, split_receipt, invoice, boxed_form, lined_form)
WITH_GOODS = (centred_receipt, left_receipt, split_receipt, invoice)
"""The layouts of `LAYOUTS` that draw goods."""


def _face(random: Random) -> Face:
    family = random.choice(FAMILIES)
    # At the same size the fixed-width family is wider.
    return Face(family, random.randint(20, 23) if family == "DejaVuSansMono" else random.randint(22, 26))


def _heading(bill: Bill, random: Random) -> list[tuple[str, str, str]]:
    """Label, value and entity type of each row in the head of a receipt, in random order."""
    rows = [
        (random.choice(("Receipt No:", "Invoice No:", "Bill No:", "Doc No:")), bill.number, "number"),
        (random.choice(("Date:", "Date of sale:", "Issued:")), bill.date, "date"),
        (random.choice(("Time:", "At:")), bill.time, ""),
        (random.choice(("Cashier:", "Served by:", "Clerk:")), bill.clerk, ""),
    ]
    random.shuffle(rows)
    return rows


def _data(bill: Bill, random: Random) -> list[tuple[str, str, str]]:
    """Label, value and entity type of each numbered or dated item of a form or invoice, in random order."""
    rows = [
        (random.choice(("Document No", "Invoice No", "Form No", "Reference No")), bill.number, "number"),
        (random.choice(("Date", "Date of issue", "Issued on")), bill.date, "date"),
        (random.choice(("Due date", "Valid until", "Pay before")), bill.due, ""),
        (random.choice(("Order No", "Member No", "Account")), bill.order, ""),
    ]
    random.shuffle(rows)
    return rows


def _total_label(random: Random) -> str:
    return random.choice(("Total", "Total due", "Amount due", "Grand total"))


def _priced(bill: Bill, value: str) -> str:
    """An amount with its currency sign. Currency codes are drawn as separate words."""
    return f"${value}" if bill.currency == "$" else value


def _form_head(canvas: Canvas, bill: Bill, face: Face, random: Random) -> int:
    big = face.bold.scaled(1.3)
    canvas.write_centred(90, [bill.company], big, "company")
    canvas.write_centred(90 + big.leading, [", ".join(bill.address)], face, "address")
    y = 90 + big.leading + 2 * face.leading
    canvas.write_centred(
        y,
        [random.choice(("Registration Form", "Application Form", "Order Form", "Membership Form"))],
        face.bold.scaled(1.15),
    )
    return y + face.leading


def _pairs(canvas: Canvas, at: tuple[float, float], rows: list[tuple[str, str, str]], face: Face) -> int:
    """Draw labels with values in a second column; returns the position of the next line."""
    x, y = at
    column = x + max((face.width(label) for label, _, _ in rows), default=0) + 20
    for label, value, kind in rows:
        canvas.write((x, y), label, face)
        canvas.write((column, y), value, face, kind)
        y += face.leading
    return round(y)


def _sums(canvas: Canvas, bill: Bill, y: int, face: Face, random: Random) -> int:
    right = canvas.width - MARGIN
    left = random.choice((MARGIN, right - face.bold.scaled(1.1).width("GRAND TOTAL   EUR   0000.00")))
    total = _total_label(random)
    rows = [
        (random.choice(("Subtotal", "Net amount", "Sub total")), bill.subtotal, ""),
        (random.choice(("Tax", "VAT", "GST")), bill.tax, ""),
        (total.upper() if random.random() < 0.4 else total, bill.total, "total"),
    ]
    if bill.other_total:
        rows.append((f"Total {bill.other_currency}", bill.other_total, ""))
    if random.random() < 0.6:
        rows += [(random.choice(("Cash", "Paid", "Card")), bill.cash, ""), ("Change", bill.change, "")]
    for label, value, kind in rows:
        weight = face.bold.scaled(1.1) if kind else face
        canvas.write((left, y), label, weight)
        shown = _priced(bill, value)
        canvas.write_right((right, y), shown, weight, kind)
        if bill.currency not in ("", "$") and value != bill.other_total:
            canvas.write_right((right - weight.width(shown + "  "), y), bill.currency, weight)
        y += weight.leading
    return y
