"""Generated forms with check boxes and radio buttons, whose fields are marks.

A mark is a word: `☑` if it is on, `☐` if it is off. The tag of a field's mark is the name of the field. Other marks and
all words are outside. Beside marks there is what looks like them: cells of tables, frames around words, bullets and
letters. Pages have 150 to 300 dots per inch and are turned by up to 2 degrees.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from layoutray.document.page import OFF, ON
from layoutray.synthetic import form_text as text
from layoutray.synthetic.canvas import Canvas, Face
from layoutray.synthetic.layouts import FAMILIES

Point = tuple[float, float]
Outline = Callable[["Sheet", Point, Point], None]
"""Draws an empty box between two corners."""
Ink = Callable[["Sheet", Point, float], None]
"""Draws a mark about a centre in a box with sides of some length."""

FIELDS: Mapping[str, Sequence[str]] = {
    "smoker": ("Smoker", "I smoke", "Do you smoke?"),
    "married": ("Married", "Married or in a partnership", "Living with a spouse"),
    "newsletter": ("Send me the newsletter", "Newsletter", "Subscribe to our newsletter"),
    "urgent": ("Urgent", "Urgent request", "Please treat as urgent"),
    "insured": ("Insured", "I have an insurance", "Health insurance"),
    "terms": ("I accept the terms", "Terms accepted", "I have read the terms and conditions"),
    "first_visit": ("First visit", "This is my first visit", "New patient"),
    "allergies": ("Allergies", "Known allergies", "I have allergies"),
}
"""Wordings of the labels of each field."""
_ON = 0.4
_STRUCK_OUT = 0.04
_PAPER = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A form that is being drawn, and its style.

    Attributes:
        face: of printed words.
        side: height of boxes, in pixels.
        wide: width of boxes, in pixels.
        rule: thickness of printed lines, in pixels.
        pen: thickness of lines by hand, in pixels.
        shade: grey level of the hand's ink.
        outline: of the form's boxes.
        inks: how whoever filled the form in makes marks.
    """

    canvas: Canvas
    random: Random
    face: Face
    side: int
    wide: int
    rule: int
    pen: int
    shade: int
    outline: Outline
    inks: Sequence[Ink]

    @property
    def margin(self) -> int:
        return self.canvas.width // 12

    def stroke(self, points: Sequence[Point], shake: float) -> None:
        """A line by hand through points, each of which it misses by about `shake` pixels."""
        near = [(x + self.random.gauss(0, shake), y + self.random.gauss(0, shake)) for x, y in points]
        self.canvas.pen.line(near, fill=self.shade, width=self.pen, joint="curve")

    def mark(self, at: Point, kind: str) -> None:
        """A box on a baseline that is on or off; with a `kind`, it is that field."""
        left, top = at[0], at[1] - self.side * self.random.uniform(0.85, 1.0)
        right, bottom = left + self.wide, top + self.side
        middle = ((left + right) / 2, (top + bottom) / 2)
        self.outline(self, (left, top), (right, bottom))
        drawn, on = self.random.random() < _ON, False
        if drawn:
            spare = (self.wide - self.side) / 2
            self.random.choice(self.inks)(self, (middle[0] + self.random.uniform(-spare, spare), middle[1]), self.side)
            on = self.random.random() >= _STRUCK_OUT
            if not on:
                across = self.wide / 2 + self.side * self.random.uniform(0.6, 1.1)
                for down in (-0.12, 0.12):
                    y = middle[1] + down * self.side
                    self.stroke([(middle[0] - across, y), middle, (middle[0] + across, y)], self.side * 0.03)
        self.canvas.symbol((left, top, right, bottom), ON if on else OFF, kind)
        if kind:
            self.canvas.values = {**self.canvas.values, kind: "on" if on else "off"}


def marked_form(random: Random) -> tuple[Canvas, int]:
    """A form with marks; returns the page and its height in pixels."""
    return draw(random, OUTLINES, INKS)


def draw(random: Random, outlines: Sequence[Outline], inks: Sequence[Ink]) -> tuple[Canvas, int]:
    """A form whose boxes have one of the outlines, and are marked in some of the ways `inks`."""
    dpi = random.choice((150, 150, 200, 200, 250, 300))
    width, height = round(8.27 * dpi), round(11.69 * dpi)
    size = round(random.uniform(8.5, 12) / 72 * dpi)
    outline = random.choice(outlines)
    side = round(size * random.uniform(0.7, 1.5))
    wider = random.choice((2.5, 6.5)) ** random.random() if outline is _square and random.random() < 0.3 else 1.0
    sheet = Sheet(
        canvas=Canvas(width, height, tilt=random.choice((0.4, 1.0))),
        random=random,
        face=Face(random.choice(FAMILIES), size),
        side=side,
        wide=round(side * wider),
        rule=max(1, round(dpi / 72 * random.uniform(0.5, 1.8))),
        pen=max(2, round(dpi / 72 * random.uniform(0.8, 2.2))),
        shade=random.randint(0, 90),
        outline=outline,
        inks=random.sample(inks, min(2, len(inks))),
    )
    sheet.canvas.write_centred(height // 14, [text.title(random).upper()], sheet.face.bold.scaled(1.4))
    y = height // 8
    kinds = random.sample(sorted(FIELDS), len(FIELDS))
    sections = [_marks, _marks, *random.choices((_marks, _entries, _table, _paragraph, _framed), k=5)]
    for section in random.sample(sections, len(sections)):
        if y < height * 0.8:
            y = section(sheet, y, kinds) + 2 * sheet.face.leading
    return sheet.canvas, height


def _marks(sheet: Sheet, y: int, kinds: list[str]) -> int:
    """Rows of boxes before or behind their labels, some of them fields."""
    random, face = sheet.random, sheet.face
    sheet.canvas.write((sheet.margin, y), text.title(random).title(), face.bold)
    columns, before = random.choice((1, 2, 3)), random.random() < 0.75
    gap = sheet.side * random.uniform(0.3, 1.2)
    room = (sheet.canvas.width - 2 * sheet.margin) / columns
    for _ in range(random.randint(1, 4)):
        y += round(max(face.leading, 1.3 * sheet.side) * random.choice((1.0, 1.3)))
        for column in range(columns):
            x = sheet.margin + column * room
            kind = kinds.pop() if kinds and random.random() < 0.5 else ""
            label = random.choice(FIELDS[kind]) if kind else text.label(random).capitalize()
            label_face = face.fitted(label, room - sheet.wide - gap - face.width("  "))
            if before:
                sheet.mark((x, y), kind)
            sheet.canvas.write((x + (sheet.wide + gap) * before, y), label, label_face)
            if not before:
                sheet.mark((x + label_face.width(label) + gap, y), kind)
    return y


def _entries(sheet: Sheet, y: int, kinds: list[str]) -> int:
    """Labels with values on a line."""
    for _ in range(sheet.random.randint(1, 4)):
        label, value = text.label(sheet.random).capitalize() + ":", text.short_answer(sheet.random)
        label_face = sheet.face.fitted(label, sheet.canvas.width * 0.45)
        sheet.canvas.write((sheet.margin, y), label, label_face)
        sheet.canvas.write((sheet.canvas.width * 0.6, y), value, sheet.face)
        line = y + sheet.face.size // 4
        sheet.canvas.rule((sheet.canvas.width * 0.58, line), (sheet.canvas.width - sheet.margin, line), sheet.rule)
        y += round(1.4 * sheet.face.leading)
    return y


def _table(sheet: Sheet, y: int, kinds: list[str]) -> int:
    """Cells with values or without, as high as boxes and some as narrow."""
    columns, step = sheet.random.randint(3, 14), round(1.3 * sheet.face.leading)
    room = (sheet.canvas.width - 2 * sheet.margin) / columns
    for _ in range(sheet.random.randint(2, 7)):
        for column in range(columns):
            x = sheet.margin + column * room
            sheet.canvas.frame((x, y), (x + room, y + step), sheet.rule)
            value = sheet.random.choice(("", "", text.short_answer(sheet.random), "X", "O", "0"))
            if value and sheet.face.width(value) < room:
                sheet.canvas.write((x + 4, y + sheet.face.leading), value, sheet.face)
        y += step
    return y


def _paragraph(sheet: Sheet, y: int, kinds: list[str]) -> int:
    """Sentences, some behind letters or bullets."""
    begin = sheet.random.choice(("", "•", "O", "D)", "■", "o", "(0)"))
    for _ in range(sheet.random.randint(2, 5)):
        sentence = f"{begin} {text.sentence(sheet.random)}"
        sheet.canvas.write(
            (sheet.margin, y), sentence, sheet.face.fitted(sentence, sheet.canvas.width - 2 * sheet.margin)
        )
        y += sheet.face.leading
    return y


def _framed(sheet: Sheet, y: int, kinds: list[str]) -> int:
    """A short text in a frame."""
    word = sheet.random.choice((text.title(sheet.random).upper(), "NO", "A", "17"))
    sheet.canvas.write((sheet.margin + sheet.face.size, y), word, sheet.face)
    right = sheet.margin + 2 * sheet.face.size + sheet.face.width(word)
    sheet.canvas.frame(
        (sheet.margin, y - 1.3 * sheet.face.size), (right, y + 0.6 * sheet.face.size), thickness=sheet.rule
    )
    return y


def _square(sheet: Sheet, corner: Point, opposite: Point) -> None:
    """A few lack a part of a side, as after copies."""
    sheet.canvas.pen.rectangle((*corner, *opposite), outline=sheet.shade // 2, width=sheet.rule)
    if sheet.random.random() < 0.05:
        x, y = sheet.random.choice(((corner[0], corner[1]), (opposite[0], corner[1]), (corner[0], opposite[1])))
        reach = sheet.side * sheet.random.uniform(0.2, 0.6)
        sheet.canvas.pen.rectangle((x - reach, y - reach, x + reach, y + reach), fill=_PAPER)


def _rounded(sheet: Sheet, corner: Point, opposite: Point) -> None:
    radius = sheet.side * 0.15
    sheet.canvas.pen.rounded_rectangle((*corner, *opposite), radius, outline=sheet.shade // 2, width=sheet.rule)


def _round(sheet: Sheet, corner: Point, opposite: Point) -> None:
    sheet.canvas.pen.ellipse((*corner, *opposite), outline=sheet.shade // 2, width=sheet.rule)


def _cross(sheet: Sheet, middle: Point, side: float) -> None:
    x, y, reach = *middle, side * sheet.random.uniform(0.3, 0.6)
    sheet.stroke([(x - reach, y - reach), middle, (x + reach, y + reach)], side * 0.05)
    sheet.stroke([(x + reach, y - reach), middle, (x - reach, y + reach)], side * 0.05)


def _tick(sheet: Sheet, middle: Point, side: float) -> None:
    """Also one that leaves the box."""
    x, y, reach = *middle, side * sheet.random.uniform(0.35, 1.1)
    low = y + side * sheet.random.uniform(0.1, 0.3)
    sheet.stroke([(x - 0.35 * side, y), (x - 0.05 * side, low), (x + reach * 0.8, y - reach)], side * 0.04)


def _filled(sheet: Sheet, middle: Point, side: float) -> None:
    """The whole box in the colour of the ink, by strokes beside each other."""
    half = side * sheet.random.uniform(0.35, 0.5)
    for step in range(math.ceil(2 * half / sheet.pen) + 1):
        y = middle[1] - half + step * sheet.pen * 0.9
        sheet.stroke([(middle[0] - half, y), (middle[0] + half, y)], side * 0.03)


def _dot(sheet: Sheet, middle: Point, side: float) -> None:
    reach = side * sheet.random.uniform(0.2, 0.32)
    x, y = middle
    sheet.canvas.pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=sheet.shade)


def _typed(sheet: Sheet, middle: Point, side: float) -> None:
    face = sheet.face.scaled(side / sheet.face.size)
    sign = sheet.random.choice("XXx✓" if "DejaVu" in face.family else "Xx")  # the other fonts have no tick
    sheet.canvas.pen.text(middle, sign, fill=sheet.shade, font=face.font(), anchor="mm")


OUTLINES: Sequence[Outline] = (_square, _square, _square, _rounded, _round)
INKS: Sequence[Ink] = (_cross, _cross, _tick, _tick, _filled, _dot, _typed)
