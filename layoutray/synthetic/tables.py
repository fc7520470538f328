"""Tables of line items: columns in any order, names above their figures, and figures above their names.

A table sets `Canvas.record` while it draws an item, so that all entities of the item share a number. The entities are
`item.name`, `item.count`, `item.unit_price`, `item.price` (before the discount) and `item.discount`. The words of each
stand next to each other in reading order, because OCR reads line by line: a name of several lines has nothing on its
left, and its figures are beside its last line, above or below it.

On a page that is not `Sheet.itemised`, the same words are no entities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from layoutray.synthetic.canvas import Face, wrapped
from layoutray.synthetic.items import LineItem
from layoutray.synthetic.sheet import Column, Sheet

Table = Callable[[Column], None]
"""Draws the items of the sheet's document into a column."""


def columns(column: Column) -> None:
    """A heading, and a row for each item, with columns in any order."""
    table = RuledTable.of(column)
    table.draw_heading(column)
    for number in range(len(column.sheet.bill.order.items)):
        table.draw_item(column, number)
    close(column, dashed=table.ruled == "dashes")


def names_above(column: Column) -> None:
    """The name of each item with its price beside or below it, and count and unit price below the name."""
    sheet, face = column.sheet, column.sheet.face
    write_count, beside, skips = _count_style(sheet), sheet.chance(0.6), sheet.chance(0.5)
    for number, item in enumerate(sheet.bill.order.items):
        sheet.canvas.record = number
        _name(column, item)
        if beside:
            _price(column, item)
        column.skip()
        if not (skips and beside and item.count == 1):
            write_count(column, item, column.left + 3 * face.size)
            if not beside:
                _price(column, item)
            column.skip()
        if item.discount:
            _discount(column, item, (column.left, column.right))
    close(column, dashed=sheet.chance(0.5))


def names_below(column: Column) -> None:
    """Count and unit price of each item above its name, which has the price beside it."""
    sheet = column.sheet
    write_count = _count_style(sheet)
    for number, item in enumerate(sheet.bill.order.items):
        sheet.canvas.record = number
        write_count(column, item, column.left)
        column.skip()
        _name(column, item)
        _price(column, item)
        column.skip()
        if item.discount:
            _discount(column, item, (column.left, column.right))
    close(column, dashed=sheet.chance(0.5))


TABLES: tuple[Table, ...] = (columns, names_above, names_below)


@dataclass(frozen=True, slots=True)
class _Column:
    """A right-aligned column of figures.

    Attributes:
        kind: entity type of its cells; empty for a distractor.
        texts: one for each item; an empty one is not drawn.
    """

    heading: str
    kind: str
    texts: Sequence[str]

    def width(self, face: Face) -> float:
        return max(face.bold.width(self.heading), *map(face.width, self.texts)) + _gap(face)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledTable:
    """A table with lines.

    Attributes:
        name_at: number of columns on the left of the names.
        left, names, heading: of the names: their left end, the lines of each, and their heading.
        ends: right ends of the columns.
        ruled: what is between its parts: nothing, a line below the heading, dashes, or a line below each row.
        sparse: lines left free below each row.
    """

    columns: Sequence[_Column]
    name_at: int
    left: float
    ends: Sequence[float]
    names: Sequence[Sequence[str]]
    sparse: float
    ruled: str
    heading: str

    @classmethod
    def of(cls, column: Column) -> Self:
        """A table of the items of the sheet's document, which fits into the column."""
        sheet, face, random = column.sheet, column.sheet.face, column.sheet.random
        heading = sheet.bill.phrases["columns"]["item"]
        names = [sheet.canvas.letters(item.name) for item in sheet.bill.order.items]
        needed = max(face.width(word) for name in [*names, *map(str.upper, heading)] for word in name.split())
        found = _fitting(_columns(sheet), column.room - needed, face)
        widths = [one.width(face) for one in found]
        room = column.room - sum(widths)
        lines = [wrapped(name, face, room) for name in names]
        name_at = random.randint(0, len(found)) if all(len(name) == 1 for name in lines) else 0
        left = column.left + sum(widths[:name_at])
        ends = [column.left + sum(widths[: number + 1]) - _gap(face) for number in range(name_at)]
        ends += [left + room + sum(widths[name_at : number + 1]) for number in range(name_at, len(found))]
        return cls(
            columns=found,
            name_at=name_at,
            left=left,
            ends=ends,
            names=lines,
            sparse=random.choice((0.0, 0.0, 0.5)),
            ruled=random.choice(("", "line", "dashes", "rows")),
            heading=_heading(sheet, "item"),
        )

    def draw_heading(self, column: Column) -> None:
        self.draw_row(column, [self.heading], [(one.heading, "") for one in self.columns], column.sheet.face.bold)
        if self.ruled:
            column.rule(dashed=self.ruled == "dashes")
        column.skip(0.3)

    def draw_item(self, column: Column, number: int) -> None:
        sheet = column.sheet
        item = sheet.bill.order.items[number]
        sheet.canvas.record = number
        cells = [(one.texts[number], one.kind) for one in self.columns]
        self.draw_row(column, self.names[number], cells, sheet.face, "item.name")
        ends = {one.kind: end for one, end in zip(self.columns, self.ends, strict=True)}
        if item.discount and "item.discount" not in ends:
            _discount(column, item, (self.left, ends["item.price"]))
        if self.ruled == "rows":
            column.rule()
        column.skip(self.sparse)

    def draw_row(
        self, column: Column, name: Sequence[str], cells: Sequence[tuple[str, str]], face: Face, kind: str = ""
    ) -> None:
        """Draw a row, with text and entity type of each cell beside the last line of its name; no type is no entity."""
        canvas = column.sheet.canvas
        last = column.y + (len(name) - 1) * face.leading
        placed = [*zip(self.ends, cells, strict=True)]
        for end, (text, of_cell) in placed[: self.name_at]:
            canvas.write_right((end, last), text, face, _of_items(column.sheet, of_cell))
        canvas.write_block((self.left, column.y), name, face, _of_items(column.sheet, kind))
        for end, (text, of_cell) in placed[self.name_at :]:
            canvas.write_right((end, last), text, face, _of_items(column.sheet, of_cell))
        column.y = last + face.leading


def _columns(sheet: Sheet) -> list[_Column]:
    """The columns of figures in random order: always the price, and some of the others."""
    order, random = sheet.bill.order, sheet.random
    items, written = order.items, order.written
    sign = random.choice((1, -1))
    count = random.choice(("{}", "{}", "{}x", "x{}"))
    code = random.choice(("", f" {order.currency.code}"))
    other = order.other.code if order.other else ""
    choice = [
        (0.85, _heading(sheet, "count"), "item.count", [count.format(item.count) for item in items]),
        (0.6, _heading(sheet, "unit_price"), "item.unit_price", [written(item.unit_price) for item in items]),
        (
            0.5,
            _heading(sheet, "discount"),
            "item.discount",
            [written(sign * one.discount) if one.discount else "" for one in items],
        ),
        (1.0, _heading(sheet, "price") + code, "item.price", [written(item.price) for item in items]),
        (0.25, _heading(sheet, "code"), "", [item.code for item in items]),
        (0.7, f"{_heading(sheet, 'price')} {other}", "", [order.converted(item.price) for item in items]),
    ]
    letters = sheet.canvas.letters
    chosen = [
        _Column(letters(heading), kind, list(map(letters, texts)))
        for share, heading, kind, texts in choice
        if random.random() < share and any(texts)
    ]
    random.shuffle(chosen)
    return chosen


def _heading(sheet: Sheet, name: str) -> str:
    heading = sheet.random.choice(sheet.bill.phrases["columns"][name])
    return heading.upper() if sheet.upper else heading


def _fitting(found: Sequence[_Column], room: float, face: Face) -> list[_Column]:
    """The columns that fit into `room` pixels; others are left out, the dispensable ones first."""
    dispensable = ["", "item.discount", "item.unit_price", "item.count"]
    left = list(found)
    while sum(column.width(face) for column in left) > room and len(left) > 1:
        first = min((column for column in left if column.kind in dispensable), key=lambda c: dispensable.index(c.kind))
        left.remove(first)
    return left


def _of_items(sheet: Sheet, kind: str) -> str:
    return kind if sheet.itemised else ""


def _name(column: Column, item: LineItem) -> None:
    """Write a name that leaves room for the price beside it; the present line is then its last one."""
    sheet = column.sheet
    price = sheet.face.width(sheet.bill.order.written(item.price)) + _gap(sheet.face)
    lines = wrapped(sheet.canvas.letters(item.name), sheet.face, column.room - price)
    sheet.canvas.write_block((column.left, column.y), lines, sheet.face, _of_items(sheet, "item.name"))
    column.skip(len(lines) - 1)


def _price(column: Column, item: LineItem) -> None:
    sheet = column.sheet
    price = sheet.bill.order.written(item.price)
    sheet.canvas.write_right((column.right, column.y), price, sheet.face, _of_items(sheet, "item.price"))


def _discount(column: Column, item: LineItem, between: tuple[float, float]) -> None:
    """Write a line with the discount: its label from the left, its amount to the right."""
    sheet, order = column.sheet, column.sheet.bill.order
    left, right = between
    label = f"{order.discount} {item.percent}%" if item.percent else order.discount
    sheet.canvas.write((left + sheet.face.size, column.y), label, sheet.face)
    amount = order.written(-item.discount)
    sheet.canvas.write_right((right, column.y), amount, sheet.face, _of_items(sheet, "item.discount"))
    column.skip()


def _count_style(sheet: Sheet) -> Callable[[Column, LineItem, float], None]:
    """How a page prints count and unit price on a line: `2 x 1.50`, `2x 1.50` or `2 @ 1.50`."""
    count, sign = sheet.random.choice((("{}", "x"), ("{}x", ""), ("{}", "@")))

    def write(column: Column, item: LineItem, x: float) -> None:
        price, letters = sheet.bill.order.written(item.unit_price), sheet.canvas.letters
        for text, kind in ((count.format(item.count), "item.count"), (sign, ""), (price, "item.unit_price")):
            sheet.canvas.write((x, column.y), text, sheet.face, _of_items(sheet, kind))
            x += sheet.face.width(letters(text) + " ") if text else 0

    return write


def close(column: Column, *, dashed: bool) -> None:
    """End the items with a line; some pages count them."""
    sheet = column.sheet
    sheet.canvas.record = None
    column.rule(dashed=dashed)
    if sheet.chance(0.2):
        number = sum(item.count for item in sheet.bill.order.items)
        column.write(f"{sheet.words('counted')}{sheet.end} {number}")
    column.skip()


def _gap(face: Face) -> float:
    """Least distance between columns."""
    return 1.2 * face.size
