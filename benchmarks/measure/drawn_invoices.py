"""Drawn invoices of several pages, whose goods are line items."""

from collections.abc import Callable
from random import Random

from layoutray.synthetic import blocks
from layoutray.synthetic.canvas import Canvas, by_rows
from layoutray.synthetic.layouts import A4, NUMBERS, TALL, first_column, head, parties
from layoutray.synthetic.render import Drawn
from layoutray.synthetic.sheet import Column
from layoutray.synthetic.sums import sums
from layoutray.synthetic.tables import RuledTable, close


def long_invoice(random: Random) -> list[Drawn]:
    """An invoice of about 1 to 20 pages whose goods are line items; most have fewer than six.

    Its sums have a subtotal and a rounding, so that its items can always be checked.
    """
    pages = random.choice((1, 1, 2, 3, 5, 5, 8, 12, 20))
    goods = max(round(pages * random.uniform(24, 32)) - 16, 1)
    column = first_column(random, narrow=False, itemised=True, goods=goods)
    sheet, drawn = column.sheet, [column.sheet.canvas]
    bottom = A4 * sheet.canvas.width - 4 * sheet.face.leading
    named = sheet.chance(0.6)

    def next_page() -> Column:
        sheet.canvas = Canvas(sheet.canvas.width, TALL, sheet.canvas.letters)
        drawn.append(sheet.canvas)
        top = Column(sheet, column.left, column.right, 60 + random.uniform(0, 60))
        if named:
            left, right = top.split(0.6)
            left.write(sheet.value("company"))
            right.write(sheet.labelled("number"), side="right")
            top.below((left, right))
            top.skip()
        return top

    head(column, "invoice")
    parties(column, sheet.pending("date", "number", *random.sample(NUMBERS["invoice"][1:6], random.randint(0, 3))))
    column.skip()
    last = _draw_items(column, bottom, next_page)
    if last.y + 14 * sheet.face.leading > bottom:
        last = next_page()
    sums(last.split(0.4)[1], receipt=False, checkable=True)
    last.y = bottom - 6 * sheet.face.leading
    blocks.footer(last)
    counted, by_row = sheet.chance(0.7), sheet.chance(0.6)
    for number, canvas in enumerate(drawn, 1):
        if counted:
            text = f"{number} / {len(drawn)}"
            canvas.write_right((last.right, bottom + 3 * sheet.face.leading), text, sheet.face)
        if by_row:
            canvas.marks = by_rows(canvas.marks)
    drawn[0].values = sheet.printed_values()
    return [(canvas, round(A4 * canvas.width)) for canvas in drawn]


def _draw_items(column: Column, bottom: float, next_page: Callable[[], Column]) -> Column:
    """A table on as many pages as the items need. Returns the column on the last page.

    Each page has the columns of the first one. Most repeat the heading, and a half state the sum so far at the end of
    a page, at the start of the next one, or at both. None of these is an entity.

    Args:
        bottom: of the pages, in pixels.
        next_page: begins a page.
    """
    sheet, order = column.sheet, column.sheet.bill.order
    table = RuledTable.of(column)
    repeats = sheet.chance(0.8)
    at_end, at_start = sheet.random.choice(((False, False), (False, False), (True, True), (True, False), (False, True)))
    table.draw_heading(column)
    total = 0
    for number, item in enumerate(order.items):
        lines = len(table.names[number]) + bool(item.discount) + at_end
        if column.y + lines * sheet.face.leading > bottom:
            sheet.canvas.record = None
            if at_end:
                _draw_sum(column, table, sheet.words("carried"), order.written(total))
            column = next_page()
            if repeats:
                table.draw_heading(column)
            if at_start:
                _draw_sum(column, table, sheet.words("brought"), order.written(total))
        table.draw_item(column, number)
        total += item.price - item.discount
    close(column, dashed=table.ruled == "dashes")
    return column


def _draw_sum(column: Column, table: RuledTable, name: str, amount: str) -> None:
    """Draw a row that is no item: a name, and an amount in the column of prices."""
    texts = [(amount if one.kind == "item.price" else "", "") for one in table.columns]
    table.draw_row(column, [name], texts, column.sheet.face)
    column.skip(table.sparse)
