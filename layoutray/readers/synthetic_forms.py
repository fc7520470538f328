"""Generated forms whose entities are headers, questions and answers, as in FUNSD.

A question is any label of an entry, an answer is what is filled in. Sections of several kinds are stacked on a page:
entries beside or above their answers, tables, check boxes, and text that belongs to no entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from layoutray.readers import synthetic_form_text as text
from layoutray.readers.synthetic_canvas import Canvas, Face, Mark
from layoutray.readers.synthetic_layouts import FAMILIES
from layoutray.readers.synthetic_text import invent_address, invent_company

_FILLED = 0.85
"""Share of entries that have an answer."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A page that is being drawn, and its style.

    Attributes:
        printed, filled: fonts of labels and of answers.
        letters: `str.upper`, `str.title` or `str.capitalize`, for labels.
        end: printed behind a label, for example a colon.
        left, right: margins in pixels from the left side.
    """

    canvas: Canvas
    random: Random
    printed: Face
    filled: Face
    letters: Callable[[str], str]
    end: str
    left: int
    right: int

    def label(self) -> str:
        return self.letters(text.label(self.random)) + self.end

    def question(self, at: tuple[float, float], label: str) -> None:
        self.canvas.write(at, label, self.printed, "question")

    def answer(self, at: tuple[float, float], room: float, lines: int = 1) -> None:
        """Fill in an entry in `room` pixels, or leave it empty. What is too long is cut after a word."""
        if self.random.random() > _FILLED:
            return
        written = [_fitting(text.answer(self.random), self.filled, room) for _ in range(lines)]
        self.canvas.write_block(at, written, self.filled, "answer")


_Section = Callable[[_Form, int], int]
"""Draws a section below a position; returns the position of the next one."""


def form(random: Random) -> tuple[Canvas, int]:
    """A form of random sections; returns the page and the used height in pixels."""
    width, height = random.randrange(760, 1000, 8), random.randrange(900, 1300)
    size = random.randint(13, 19)
    left = random.randint(30, 110)
    one = _Form(
        Canvas(width, height),
        random,
        Face(random.choice(FAMILIES), size),
        Face(random.choice(FAMILIES), size),
        random.choice((str.upper, str.title, str.capitalize)),
        random.choice((":", ":", "", " -", ".")),
        left,
        width - random.randint(30, 90),
    )
    y = _head(one, random.randint(50, 110))
    while y < height - 220:
        y = random.choice(_SECTIONS)(one, y) + random.randint(0, 2 * size)
    _foot(one, y)
    _reordered(one.canvas, random)
    return one.canvas, height


def _head(one: _Form, y: int) -> int:
    """A title, beside or below the name and address of a company."""
    random, canvas, face = one.random, one.canvas, one.printed
    if random.random() < 0.5:
        canvas.write((one.left, y), invent_company(random), face.bold, random.choice(("header", "")))
        canvas.write((one.left, y + face.leading), ", ".join(invent_address(random)), face.scaled(0.8))
        y += 3 * face.leading
    lines = [one.letters(text.title(random)) for _ in range(random.choice((1, 1, 2)))]
    canvas.write_centred(y, lines, face.bold.scaled(random.choice((1.0, 1.3, 1.6))), "header")
    return y + (len(lines) + 2) * face.leading


def _foot(one: _Form, y: int) -> None:
    """A number, a page or a sentence at the bottom."""
    face = one.printed.scaled(0.8)
    for _ in range(one.random.randrange(3)):
        y += face.leading
        line = one.random.choice((text.sentence, text.short_answer))(one.random)
        one.canvas.write((one.random.randint(one.left, one.canvas.width // 2), y), line, face)


def _section_title(one: _Form, y: int) -> int:
    one.canvas.write((one.left, y), one.letters(text.title(one.random)), one.printed.bold, "header")
    return y + round(1.3 * one.printed.leading)


def _beside(one: _Form, y: int) -> int:
    """Entries in one to three columns, with answers behind the labels or in a column of their own."""
    columns = one.random.choice((1, 1, 2, 2, 3))
    room = (one.right - one.left) / columns
    aligned, ruled = one.random.random() < 0.5, one.random.random() < 0.3
    step = round(one.printed.leading * one.random.uniform(1.0, 1.8))
    lines = one.random.choice((1, 1, 1, 2)) if columns == 1 else 1
    for _ in range(one.random.randint(1, 7)):
        for column in range(columns):
            x = one.left + column * room
            label = _fitting(one.label(), one.printed, room * 0.6)
            start = x + (room * 0.45 if aligned else one.printed.width(label + "  "))
            one.question((x, y), label)
            start = max(start, x + one.printed.width(label + " "))
            one.answer((start, y), x + room - start - 8, lines)
            if ruled:
                one.canvas.rule((start, y + 4), (x + room - 10, y + 4), thickness=1)
        y += step + (lines - 1) * one.filled.leading
    return y


def _above(one: _Form, y: int) -> int:
    """Framed cells with a label above its answer."""
    columns = one.random.randint(1, 4)
    room, high = (one.right - one.left) / columns, round(2.4 * one.printed.leading)
    for _ in range(one.random.randint(1, 4)):
        for column in range(columns):
            x = one.left + column * room
            one.canvas.frame((x, y - one.printed.leading), (x + room, y + high - one.printed.leading), thickness=1)
            one.question((x + 6, y), _fitting(one.label(), one.printed, room - 12))
            one.answer((x + 10, y + one.printed.leading), room - 20)
        y += high
    return y


def _table(one: _Form, y: int) -> int:
    """A table whose head, and sometimes whose first column, are questions."""
    random, columns = one.random, one.random.randint(2, 6)
    room = (one.right - one.left) / columns
    labelled = random.random() < 0.5
    for column in range(columns):
        one.question((one.left + column * room, y), _fitting(one.label(), one.printed, room - 8))
    y += round(1.3 * one.printed.leading)
    for _ in range(random.randint(1, 9)):
        if labelled:
            one.question((one.left, y), _fitting(one.label(), one.printed, room - 8))
        for column in range(labelled, columns):
            if random.random() < _FILLED:
                cell = _fitting(text.short_answer(random), one.filled, room - 8)
                one.canvas.write((one.left + column * room, y), cell, one.filled, "answer")
        y += one.filled.leading
    return y + one.filled.leading


def _check_boxes(one: _Form, y: int) -> int:
    """Rows of labels, of which some are ticked before or behind them."""
    before, columns = one.random.random() < 0.5, one.random.randint(2, 5)
    room = (one.right - one.left) / columns
    for _ in range(one.random.randint(1, 3)):
        for column in range(columns):
            x = one.left + column * room
            label = _fitting(one.label(), one.printed, room - 50)
            one.question((x + 24 * before, y), label)
            if one.random.random() < 0.4:
                mark = x if before else x + one.printed.width(label + "  ")
                one.canvas.write((mark, y), one.random.choice(("X", "x", "/")), one.filled, "answer")
        y += round(1.3 * one.printed.leading)
    return y


def _paragraph(one: _Form, y: int) -> int:
    """Sentences that belong to no entry."""
    face = one.printed.scaled(one.random.choice((0.8, 1.0)))
    for _ in range(one.random.randint(1, 4)):
        line = _fitting(" ".join(text.sentence(one.random) for _ in range(2)), face, one.right - one.left)
        one.canvas.write((one.left, y), line, face)
        y += face.leading
    return y + face.leading // 2


_SECTIONS: tuple[_Section, ...] = (
    _section_title, _beside, _beside, _beside, _above, _table, _check_boxes, _paragraph,
)  # fmt: skip


def _fitting(line: str, face: Face, room: float) -> str:
    """The first words of `line` that fit into `room` pixels, at least one."""
    words = line.split()
    while len(words) > 1 and face.width(" ".join(words)) > room:
        words.pop()
    return " ".join(words)


def _reordered(canvas: Canvas, random: Random) -> None:
    """Shuffle the order of entities on every second page: annotated forms list entities in any order."""
    if random.random() < 0.5:
        return
    entities: list[list[Mark]] = []
    for mark in canvas.marks:
        if mark.tag.startswith("I") or (mark.tag == "O" and entities and entities[-1][-1].line == mark.line):
            entities[-1].append(mark)
        else:
            entities.append([mark])
    random.shuffle(entities)
    canvas.marks = [mark for entity in entities for mark in entity]
