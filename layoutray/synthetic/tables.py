"""Tables of line items: columns in any order, names above their figures, and figures above their names.

A table sets `Canvas.record` while it draws an item, so that all entities of the item share a number. The entities are
`item.name`, `item.count`, `item.unit_price`, `item.price` (before the discount) and `item.discount`. The words of each
stand next to each other in reading order, because OCR reads line by line: a name of several lines has nothing on its
left, and its figures are beside its last line, above or below it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from layoutray.synthetic.canvas import Canvas, Face, wrapped
from layoutray.synthetic.items import LineItem, Order

MARGIN = 60
"""Left and right of all text, in pixels."""

Table = Callable[[Canvas, Order, int, Face, Random], int]
"""Draws the items of an order below a position; returns the position of the next line."""


def columns(canvas: Canvas, order: Order, y: int, face: Face, random: Random) -> int:
    """A heading, and a row for each item, with columns in any order."""
    grid = _grid(canvas, order, face, random)
    sparse = random.choice((0, 0, face.leading // 2))
    y += face.leading
    headings = [(column.heading, "") for column in grid.columns]
    _draw_row(canvas, grid, y, ([random.choice(("Item", "Goods", "Article"))], "", headings), face.bold)
    canvas.rule((MARGIN, y + 10), (canvas.width - MARGIN, y + 10))
    y += round(face.leading * 1.2)
    for number, item in enumerate(order.items):
        canvas.record = number
        cells = [(column.texts[number], column.kind) for column in grid.columns]
        y = _draw_row(canvas, grid, y, (grid.names[number], "item.name", cells), face)
        if item.discount and "item.discount" not in grid.ends_of:
            y = _discount(canvas, order, item, (grid.left, grid.ends_of["item.price"], y), face)
        y += sparse
    return _closed(canvas, y, face)


def names_above(canvas: Canvas, order: Order, y: int, face: Face, random: Random) -> int:
    """The name of each item with its price beside or below it, and count and unit price below the name."""
    write_count, beside, skips = _count_style(random), random.random() < 0.6, random.random() < 0.5
    y += face.leading
    for number, item in enumerate(order.items):
        canvas.record = number
        y = _name(canvas, order, item, y, face)
        if beside:
            _price(canvas, order, item, y, face)
        y += face.leading
        if not (skips and beside and item.count == 1):
            write_count(canvas, order, item, (MARGIN + 3 * face.size, y), face)
            if not beside:
                _price(canvas, order, item, y, face)
            y += face.leading
        if item.discount:
            y = _discount(canvas, order, item, (MARGIN, canvas.width - MARGIN, y), face)
    return _closed(canvas, y, face)


def names_below(canvas: Canvas, order: Order, y: int, face: Face, random: Random) -> int:
    """Count and unit price of each item above its name, which has the price beside it."""
    write_count = _count_style(random)
    y += face.leading
    for number, item in enumerate(order.items):
        canvas.record = number
        write_count(canvas, order, item, (MARGIN, y), face)
        y = _name(canvas, order, item, y + face.leading, face)
        _price(canvas, order, item, y, face)
        y += face.leading
        if item.discount:
            y = _discount(canvas, order, item, (MARGIN, canvas.width - MARGIN, y), face)
    return _closed(canvas, y, face)


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


_Row = tuple[Sequence[str], str, Sequence[tuple[str, str]]]
"""The lines of a name and its entity type, and text and entity type of each cell beside it; no type is no entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Places of the columns of a table.

    Attributes:
        name_at: number of columns on the left of the names.
        left: of the names.
        ends: right ends of the columns.
        names: lines of each name.
    """

    columns: Sequence[_Column]
    name_at: int
    left: float
    ends: Sequence[float]
    names: Sequence[Sequence[str]]

    @property
    def ends_of(self) -> dict[str, float]:
        """Right ends of the columns by entity type."""
        return {column.kind: end for column, end in zip(self.columns, self.ends, strict=True)}


def _grid(canvas: Canvas, order: Order, face: Face, random: Random) -> _Grid:
    room = canvas.width - 2 * MARGIN
    found = _fitting(_columns(order, random), order, room, face)
    room -= sum(column.width(face) for column in found)
    names = [wrapped(item.name, face, room) for item in order.items]
    name_at = random.randint(0, len(found)) if all(len(lines) == 1 for lines in names) else 0
    widths = [column.width(face) for column in found]
    left = MARGIN + sum(widths[:name_at])
    ends = [MARGIN + sum(widths[: number + 1]) - _gap(face) for number in range(name_at)]
    ends += [left + room + sum(widths[name_at : number + 1]) for number in range(name_at, len(found))]
    return _Grid(columns=found, name_at=name_at, left=left, ends=ends, names=names)


def _columns(order: Order, random: Random) -> list[_Column]:
    """The columns of figures in random order: always the price, and some of the others."""
    items, written = order.items, order.currency.written
    sign = random.choice((1, -1))
    count = random.choice(("{}", "{}", "{}x", "x{}"))
    code, other = order.currency.code, order.other.code if order.other else ""
    choice = [
        (0.85, ("Qty", "Quantity", "No."), "item.count", [count.format(item.count) for item in items]),
        (0.6, ("Unit", "Each", "Unit price"), "item.unit_price", [written(item.unit_price) for item in items]),
        (
            0.5,
            ("Disc.", "Less"),
            "item.discount",
            [written(sign * one.discount) if one.discount else "" for one in items],
        ),
        (1.0, (f"Sum {code}", code, "Amount"), "item.price", [written(item.price) for item in items]),
        (0.25, ("Code", "Art. No"), "", [item.code for item in items]),
        (0.7, (f"Sum {other}", other), "", [order.converted(item.price) for item in items]),
    ]
    chosen = [
        _Column(random.choice(headings), kind, texts)
        for share, headings, kind, texts in choice
        if random.random() < share and any(texts)
    ]
    random.shuffle(chosen)
    return chosen


def _fitting(found: Sequence[_Column], order: Order, room: float, face: Face) -> list[_Column]:
    """The columns that leave room for the longest word of a name; others are left out, the dispensable ones first."""
    needed = max(face.width(word) for item in order.items for word in [*item.name.split(), "Description"])
    dispensable = ["", "item.discount", "item.unit_price", "item.count"]
    left = list(found)
    while room - sum(column.width(face) for column in left) < needed:
        first = min((column for column in left if column.kind in dispensable), key=lambda c: dispensable.index(c.kind))
        left.remove(first)
    return left


def _draw_row(canvas: Canvas, grid: _Grid, y: int, row: _Row, face: Face) -> int:
    """Draw a row, with its cells beside the last line of its name; returns the position of the next line."""
    name, name_kind, texts = row
    last = y + (len(name) - 1) * face.leading
    cells = [*zip(grid.ends, texts, strict=True)]
    for end, (text, kind) in cells[: grid.name_at]:
        canvas.write_right((end, last), text, face, kind)
    canvas.write_block((grid.left, y), name, face, name_kind)
    for end, (text, kind) in cells[grid.name_at :]:
        canvas.write_right((end, last), text, face, kind)
    return last + face.leading


def _name(canvas: Canvas, order: Order, item: LineItem, y: int, face: Face) -> int:
    """Draw a name that leaves room for the price beside it; returns the position of its last line."""
    price = face.width(order.currency.written(item.price)) + _gap(face)
    lines = wrapped(item.name, face, canvas.width - 2 * MARGIN - price)
    canvas.write_block((MARGIN, y), lines, face, "item.name")
    return y + (len(lines) - 1) * face.leading


def _price(canvas: Canvas, order: Order, item: LineItem, y: int, face: Face) -> None:
    canvas.write_right((canvas.width - MARGIN, y), order.currency.written(item.price), face, "item.price")


def _discount(canvas: Canvas, order: Order, item: LineItem, at: tuple[float, float, int], face: Face) -> int:
    """Draw a line with the discount; `at` has the left end of its label, the right end of its amount, and the line."""
    left, right, y = at
    label = f"Discount {item.percent}%" if item.percent else "Discount"
    canvas.write((left + face.size, y), label, face)
    canvas.write_right((right, y), order.currency.written(-item.discount), face, "item.discount")
    return y + face.leading


def _count_style(random: Random) -> Callable[[Canvas, Order, LineItem, tuple[float, float], Face], None]:
    """How a page prints count and unit price on a line: `2 x 1.50`, `2x 1.50` or `2 @ 1.50`."""
    count, sign = random.choice((("{}", "x"), ("{}x", ""), ("{}", "@")))

    def write(canvas: Canvas, order: Order, item: LineItem, at: tuple[float, float], face: Face) -> None:
        x, y = at
        price = order.currency.written(item.unit_price)
        for text, kind in ((count.format(item.count), "item.count"), (sign, ""), (price, "item.unit_price")):
            canvas.write((x, y), text, face, kind)
            x += face.width(text + " ") if text else 0

    return write


def _closed(canvas: Canvas, y: int, face: Face) -> int:
    canvas.record = None
    canvas.rule((MARGIN, y - face.size // 2), (canvas.width - MARGIN, y - face.size // 2))
    return y + face.leading


def _gap(face: Face) -> float:
    """Least distance between columns."""
    return 1.2 * face.size
