"""Sheets full of boxes with labels and of what is mistaken for boxes, to train the network of `layoutray.ocr.marks`.

Rows of a sheet are boxes with labels, columns of boxes that share sides, text, letters and digits as high as boxes,
sums between rules, underlined or framed words, cells of tables. Beside them are turned page numbers, punch holes, blots
and handwriting. Sheets have 75 to 200 dots per inch, fonts of any kind, and an X may leave its box.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import matplotlib as mpl
from matplotlib import font_manager
from PIL import Image, ImageDraw

from benchmarks.measure.mark_drawings import INKS, OUTLINES, Sheet
from layoutray.synthetic import form_text as text
from layoutray.synthetic.canvas import Canvas, Face

_SYMBOLS = ("cmex", "cmsy", "cmmi", "STIXSiz", "STIXNonUni", "LastResort", "MathTeX", "Display", "pdf.ttf")
"""Names of fonts without letters."""
_LIKE_BOXES = "DO0QBPCGU8694@"


def fonts(folder: Path | None) -> list[str]:
    """Paths, without suffix, of the TrueType fonts of Matplotlib, of the system and of a folder."""
    folders = [Path(mpl.get_data_path(), "fonts", "ttf"), *([folder] if folder else [])]
    found = {*font_manager.findSystemFonts(), *(str(path) for one in folders for path in one.glob("**/*.ttf"))}
    return sorted(
        one.removesuffix(".ttf") for one in found if one.endswith(".ttf") and not any(map(one.count, _SYMBOLS))
    )


@dataclass(frozen=True, slots=True)
class Sheets:
    """Draws sheets in some fonts; see `layoutray.synthetic.render.Draw`."""

    fonts: list[str]

    def __call__(self, random: Random) -> tuple[Canvas, int]:
        dpi = random.choice((75, 90, 100, 100, 120, 150, 200))
        width, height = round(dpi * random.uniform(6, 8.5)), round(dpi * random.uniform(3.5, 11.7))
        face = Face(random.choice(self.fonts), max(6, round(random.uniform(7, 14) / 72 * dpi)))
        letters = random.choice((str, str, str.upper))
        canvas = Canvas(width, height, letters, tilt=random.choice((0.2, 0.6, 1.2)))
        y = height * random.uniform(0.03, 0.12)
        outline = random.choice(OUTLINES)
        sheet = self._sheet(canvas, random, face, outline)
        while y < height * 0.93:
            other = face if random.random() < 0.7 else Face(random.choice(self.fonts), face.size)
            sheet = self._sheet(canvas, random, other, outline)
            y = random.choices([row for row, _ in _ROWS], [share for _, share in _ROWS])[0](sheet, y + other.leading)
        for draw, share in _BESIDE:
            if random.random() < share:
                draw(sheet, height)
        return canvas, height

    def _sheet(self, canvas: Canvas, random: Random, face: Face, outline: Callable[..., None]) -> Sheet:
        side = max(5, round(face.size * random.uniform(0.6, 1.5)))
        wide = random.choice((1.0, 1.0, 1.0, random.uniform(0.8, 1.3), random.uniform(1.3, 5.0)))
        rule = max(1, round(face.size * random.uniform(0.03, 0.16)))
        return Sheet(
            canvas=canvas, random=random, face=face, side=side, wide=round(side * wide), rule=rule,
            pen=max(1, round(face.size * random.uniform(0.06, 0.2))), shade=random.randint(0, 90), outline=outline,
            inks=random.sample(INKS, 2),
        )  # fmt: skip


def _words(random: Random) -> str:
    """A label, a number, a code, or a word of few letters."""
    kind = random.random()
    if kind < 0.45:
        return text.label(random)
    if kind < 0.6:
        return text.short_answer(random)
    if kind < 0.8:
        letters = "".join(random.choices(_LIKE_BOXES + "0123456789ADENORST.,-/", k=random.randint(1, 9)))
        return f"{letters} {random.choice(_LIKE_BOXES)}" if random.random() < 0.3 else letters
    return random.choice(("YES", "NO", "I.P.", "P.O.", "N/A", "COD", "OTHER", "R&D", "( 84)", "(0)", "$", "O", "DOM."))


def _boxes(sheet: Sheet, y: float) -> float:
    """Rows of boxes with labels near or far, before or behind them."""
    random, face = sheet.random, sheet.face
    room = sheet.canvas.width * random.uniform(0.12, 0.45)
    gap, before = sheet.face.size * random.choice((0.15, 0.3, 0.6, 1.2)), random.random() < 0.7
    left = sheet.canvas.width * random.uniform(0.03, 0.3)
    for _ in range(random.randint(1, 3)):
        x = left
        while x + sheet.wide + room < sheet.canvas.width:
            label = sheet.canvas.letters(random.choice((_words(random), text.label(random).capitalize())))
            fitted = face.fitted(label, room - sheet.wide - gap - face.size / 2)
            down = random.uniform(-0.15, 0.1) * sheet.side
            if not before:
                sheet.canvas.write((x, y), label, fitted)
                x += fitted.width(label) + gap
            sheet.mark((x, y + down), "")
            _strays(sheet, x, y)
            if before:
                sheet.canvas.write((x + sheet.wide + gap, y), label, fitted)
            x += room
        y += max(face.leading, 1.3 * sheet.side) * random.choice((1.0, 1.0, 1.4))
    return y


def _strays(sheet: Sheet, x: float, y: float) -> None:
    """A colon beside some boxes."""
    if sheet.random.random() < 0.04:
        sheet.canvas.pen.text((x + sheet.wide + 1, y), ":", fill=0, font=sheet.face.font(), anchor="ls")


def _column(sheet: Sheet, y: float) -> float:
    """Boxes above each other that share sides, or nearly do, with labels before or behind them."""
    random = sheet.random
    x, count, step = sheet.canvas.width * random.uniform(0.1, 0.7), random.randint(2, 5), sheet.side
    step += random.choice((0, 0, sheet.rule + 1))
    before = random.random() < 0.5
    for row in range(count):
        label = text.short_answer(random)
        sheet.mark((x, y + row * step), "")
        gap = sheet.face.size * 0.4
        at = x - gap - sheet.face.width(label) if before else x + sheet.wide + gap
        sheet.canvas.write((at, y + row * step), label, sheet.face)
    return y + count * step


def _line(sheet: Sheet, y: float) -> float:
    """A line of words of any size, some underlined, framed, or in a ring."""
    random, canvas = sheet.random, sheet.canvas
    face = sheet.face.scaled(random.choice((1.0, 1.0, random.uniform(0.7, 2.0))))
    y += face.size - sheet.face.size
    x = canvas.width * random.uniform(0.02, 0.3)
    while x < canvas.width * 0.9:
        word = canvas.letters(_words(random))
        wide = face.width(word)
        canvas.write((x, y), word, face)
        kind, low = random.random(), y + face.size * random.uniform(0.08, 0.35)
        high = y - face.size * random.uniform(0.85, 1.3)
        if kind < 0.12:
            canvas.rule((x, low), (x + wide, low), sheet.rule)
            if kind < 0.05:
                canvas.rule((x, high), (x + wide, high), sheet.rule)
        elif kind < 0.16:
            canvas.frame((x - face.size / 2, high), (x + wide + face.size / 2, low), sheet.rule)
        elif kind < 0.18:
            canvas.pen.ellipse((x - face.size / 2, high, x + wide + face.size / 2, low), outline=60, width=sheet.pen)
        x += wide + face.size * random.choice((0.5, 0.5, 1.5, 4))
    return y


def _letters(sheet: Sheet, y: float) -> float:
    """Single letters and digits of any size, apart from each other."""
    random = sheet.random
    face = sheet.face.scaled(random.uniform(0.9, 2.2))
    for _ in range(random.randint(2, 9)):
        x = sheet.canvas.width * random.uniform(0.02, 0.95)
        sheet.canvas.write((x, y), random.choice((*_LIKE_BOXES, *_LIKE_BOXES, "00", "80", "X", "V")), face)
    return y + face.leading - sheet.face.leading


def _sums(sheet: Sheet, y: float) -> float:
    """Columns of numbers, some in parentheses, with rules above and below."""
    random, canvas, face = sheet.random, sheet.canvas, sheet.face
    columns, rows, step = random.randint(1, 6), random.randint(1, 4), face.leading * random.uniform(0.75, 1.0)
    template = random.choice(("{}", "({})", "( {})", "{}%", "{}.0", "{}¢", "{}"))
    for row in range(rows):
        for column in range(columns):
            right = canvas.width * (0.3 + 0.65 * column / columns)
            number = template.format(random.randrange(10 ** random.randint(1, 4)))
            canvas.write_right((right, y + row * step), number, face)
            if random.random() < 0.5:
                low = y + row * step + face.size * random.uniform(0.1, 0.3)
                canvas.rule((right - face.width(number), low), (right, low), sheet.rule)
    return y + (rows - 1) * step


def _table(sheet: Sheet, y: float) -> float:
    """Cells, empty or not, from as small as a box on."""
    random, canvas = sheet.random, sheet.canvas
    columns, rows = random.randint(2, 14), random.randint(1, 5)
    step, wide = sheet.face.size * random.uniform(1.1, 1.8), canvas.width * 0.9 / columns * random.uniform(0.3, 1)
    left, share = canvas.width * 0.04, random.choice((0.1, 0.5, 0.9))
    for row in range(rows):
        for column in range(columns):
            x, top = left + column * wide, y + row * step
            canvas.frame((x, top), (x + wide, top + step), sheet.rule)
            word = random.choice((text.short_answer(random), random.choice(_LIKE_BOXES), "X", "30¢"))
            if random.random() < share and sheet.face.width(word) < wide - 4:
                at = (
                    x + (wide - sheet.face.width(word)) * random.choice((0.1, 0.5)),
                    top + 0.5 * (step + sheet.face.size * 0.8),
                )
                canvas.write(at, word, sheet.face)
    return y + rows * step


def _turned(sheet: Sheet, height: int) -> None:
    """A number on its side, or a stamp of one."""
    random = sheet.random
    face = sheet.face.scaled(random.uniform(0.8, 2.0))
    number = random.choice(("{:08}", "{}", "{:05}-{:04}")).format(random.randrange(10**8), random.randrange(10**4))
    _, _, right, bottom = face.font().getbbox(number)
    strip = Image.new("L", (int(right) + 4, int(bottom) + 4), 255)
    ImageDraw.Draw(strip).text((2, 2), number, fill=random.randint(0, 60), font=face.font())
    strip = strip.rotate(random.choice((90, 270)) + random.gauss(0, 2), expand=True, fillcolor=255)
    x = sheet.canvas.width * random.choice(
        (random.uniform(0.01, 0.05), random.uniform(0.9, 0.96), random.random() * 0.9)
    )
    sheet.canvas.image.paste(strip, (round(x), round(random.uniform(0.0, 0.8) * height)))


def _holes(sheet: Sheet, height: int) -> None:
    """Punch holes: rings, some with gaps or filled."""
    random = sheet.random
    size = sheet.canvas.width * random.uniform(0.012, 0.035)
    x = sheet.canvas.width * random.choice((0.03, 0.06, 0.5, 0.95))
    for number in range(random.randint(1, 3)):
        y = height * (0.1 + 0.3 * number + random.uniform(0, 0.05))
        fill = random.choice((None, None, 0, 90))
        reach = (size * random.uniform(0.8, 1.1), size * random.uniform(0.8, 1.1))
        box = (x - reach[0], y - reach[1], x + reach[0], y + reach[1])
        for _ in range(random.randint(1, 3)):
            moved = tuple(side + random.gauss(0, 1) for side in box)
            sheet.canvas.pen.arc(moved, *sorted(random.sample(range(0, 500, 20), 2)), fill=30, width=sheet.pen)
        if fill is not None:
            sheet.canvas.pen.ellipse(box, fill=fill)


def _scribble(sheet: Sheet, height: int) -> None:
    """Handwriting, ticks and rings without a box."""
    random = sheet.random
    for _ in range(random.randint(1, 6)):
        x, y = sheet.canvas.width * random.uniform(0.05, 0.9), height * random.uniform(0.05, 0.95)
        kind = random.random()
        if kind < 0.4:
            random.choice(INKS)(sheet, (x, y), sheet.side * random.uniform(1, 2))
        else:
            turns, wide, high = random.uniform(0.7, 4), sheet.face.size * random.uniform(0, 5), sheet.face.size
            points = [
                (
                    x + wide * part / 30 + high / 2 * math.cos(turns * part / 4.8),
                    y + high / 2 * math.sin(turns * part / 4.8),
                )
                for part in range(31)
            ]
            sheet.stroke(points, high * 0.05)


_ROWS = ((_boxes, 0.3), (_column, 0.12), (_line, 0.3), (_letters, 0.1), (_sums, 0.12), (_table, 0.1))
_BESIDE = ((_turned, 0.6), (_turned, 0.3), (_holes, 0.3), (_scribble, 0.4))
