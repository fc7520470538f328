"""Generated forms whose entities are headers, questions and answers, as in FUNSD.

A question is any label of an entry, an answer is what is filled in. Sections of several kinds are stacked on a page:
entries beside or above their answers, tables, check boxes, and text that belongs to no entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from layoutray.synthetic import form_text as text
from layoutray.synthetic.canvas import Canvas, Face, Mark, wrapped
from layoutray.synthetic.layouts import FAMILIES

_FILLED = 0.85
"""Share of entries that have an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A page that is being drawn, and its style.

    Attributes:
        printed, filled: fonts of labels and of answers.
        letters: `str.upper`, `str.title` or `str.capitalize`, for labels.
        end: printed behind a label, for example a colon.
        numbering: printed before a label; `{}` is its number.
        left, right: margins in pixels from the left side.
    """

    canvas: Canvas
    random: Random
    printed: Face
    filled: Face
    letters: Callable[[str], str]
    end: str
    numbering: str
    left: int
    right: int

    def label(self, number: int) -> str:
        """A label, behind its number if the form numbers its entries."""
        return self.numbering.format(number) + self.letters(text.label(self.random)) + self.end

    def question(self, at: tuple[float, float], label: str, room: float, lines: int = 1) -> float:
        """Write a label in `room` pixels and at most `lines` lines. Returns its width in pixels."""
        return self._write(at, wrapped(label, self.printed, room)[:lines], self.printed, "question")

    def answer(self, at: tuple[float, float], room: float, lines: int = 1) -> None:
        """Fill in an entry in `room` pixels and at most `lines` lines, or leave it empty. The rest is cut."""
        if self.random.random() < _FILLED:
            self._write(at, wrapped(text.answer(self.random), self.filled, room)[:lines], self.filled, "answer")

    def _write(self, at: tuple[float, float], lines: Sequence[str], face: Face, kind: str) -> float:
        self.canvas.write_block(at, lines, face, kind)
        return max(map(face.width, lines))


_Section = Callable[[_Form, int], int]
"""Draws a section below a position; returns the position of the next one."""


def form(random: Random) -> tuple[Canvas, int]:
    """A form of random sections; returns the page and the used height in pixels."""
    width, height = random.randrange(760, 1000, 8), random.randrange(900, 1300)
    size = random.randint(13, 19)
    left = random.randint(30, 110)
    one = _Form(
        canvas=Canvas(width, height),
        random=random,
        printed=Face(random.choice(FAMILIES), size),
        filled=Face(random.choice(FAMILIES), size),
        letters=random.choice((str.upper, str.title, str.capitalize)),
        end=random.choice((":", ":", "", " -", ".", "....")),
        numbering=random.choice(("", "", "", "{}. ", "({}) ")),
        left=left,
        right=width - random.randint(30, 90),
    )
    y = _head(one, random.randint(50, 110))
    while y < height - 220:
        y = random.choice(_SECTIONS)(one, y) + random.randint(0, 2 * size)
    small = one.printed.scaled(0.8)
    for _ in range(random.randrange(3)):  # a number, a page or a sentence at the bottom
        y += small.leading
        line = random.choice((text.sentence, text.short_answer))(random)
        one.canvas.write((random.randint(left, width // 2), y), line, small)
    _reordered(one.canvas, random)
    return one.canvas, height


def _head(one: _Form, y: int) -> int:
    """A title, beside or below the name and address of a company."""
    random, canvas, face = one.random, one.canvas, one.printed
    if random.random() < 0.5:
        canvas.write((one.left, y), text.US.company(random), face.bold, random.choice(("header", "")))
        canvas.write((one.left, y + face.leading), ", ".join(text.US.address(random)), face.scaled(0.8))
        y += 3 * face.leading
    lines = [one.letters(text.title(random)) for _ in range(random.choice((1, 1, 2)))]
    canvas.write_centred(y, lines, face.bold.scaled(random.choice((1.0, 1.3, 1.6))), "header")
    return y + (len(lines) + 2) * face.leading


def _section_title(one: _Form, y: int) -> int:
    one.canvas.write((one.left, y), one.letters(text.title(one.random)), one.printed.bold, "header")
    return y + round(1.3 * one.printed.leading)


def _beside(one: _Form, y: int) -> int:
    """Entries in one to three columns, with answers behind the labels or in a column of their own."""
    columns = one.random.choice((1, 1, 2, 2, 3))
    room = (one.right - one.left) / columns
    aligned, ruled = one.random.random() < 0.5, one.random.random() < 0.3
    lines = one.random.choice((1, 1, 2, 3)) if columns < 3 else 1
    step = round(one.printed.leading * (one.random.uniform(1.0, 1.8) + lines - 1))
    for number in range(one.random.randint(1, 7)):
        for column in range(columns):
            x = one.left + column * room
            width = one.question((x, y), one.label(number * columns + column + 1), room * 0.6, lines)
            start = x + max(width + one.printed.width("  "), room * 0.45 * aligned)
            one.answer((start, y), x + room - start - 8, lines)
            if ruled:
                one.canvas.rule((start, y + 4), (x + room - 10, y + 4), thickness=1)
        y += step
    return y


def _above(one: _Form, y: int) -> int:
    """Framed cells with a label above its answer."""
    columns, lines = one.random.randint(1, 4), one.random.choice((1, 1, 2))
    leading = one.printed.leading
    room, high = (one.right - one.left) / columns, round((lines + 1.4) * leading)
    for row in range(one.random.randint(1, 4)):
        for column in range(columns):
            x = one.left + column * room
            one.canvas.frame((x, y - leading), (x + room, y + high - leading), thickness=1)
            one.question((x + 6, y), one.label(row * columns + column + 1), room - 12)
            one.answer((x + 10, y + leading), room - 20, lines)
        y += high
    return y


def _table(one: _Form, y: int) -> int:
    """A table whose head, and sometimes whose first column, are questions."""
    random, columns = one.random, one.random.randint(2, 6)
    room = (one.right - one.left) / columns
    labelled = random.random() < 0.5
    lines = random.choice((1, 1, 2))
    for column in range(columns):
        one.question((one.left + column * room, y), one.label(column + 1), room - 8, lines)
    y += round((lines + 0.3) * one.printed.leading)
    for row in range(random.randint(1, 9)):
        if labelled:
            one.question((one.left, y), one.label(row + 1), room - 8)
        for column in range(labelled, columns):
            if random.random() < _FILLED:
                cell = wrapped(text.short_answer(random), one.filled, room - 8)[0]
                one.canvas.write((one.left + column * room, y), cell, one.filled, "answer")
        y += one.filled.leading
    return y + one.filled.leading


def _check_boxes(one: _Form, y: int) -> int:
    """Rows of labels, of which some are ticked before or behind them."""
    before, columns = one.random.random() < 0.5, one.random.randint(2, 5)
    room = (one.right - one.left) / columns
    for row in range(one.random.randint(1, 3)):
        for column in range(columns):
            x = one.left + column * room
            width = one.question((x + 24 * before, y), one.label(row * columns + column + 1), room - 50)
            if one.random.random() < 0.4:
                mark = x if before else x + width + one.printed.width("  ")
                one.canvas.write((mark, y), one.random.choice(("X", "x", "/")), one.filled, "answer")
        y += round(1.3 * one.printed.leading)
    return y


def _paragraph(one: _Form, y: int) -> int:
    """Sentences that belong to no entry."""
    face = one.printed.scaled(one.random.choice((0.8, 1.0)))
    for _ in range(one.random.randint(1, 4)):
        line = wrapped(" ".join(text.sentence(one.random) for _ in range(2)), face, one.right - one.left)[0]
        one.canvas.write((one.left, y), line, face)
        y += face.leading
    return y + face.leading // 2


_SECTIONS: tuple[_Section, ...] = (
    _section_title, _beside, _beside, _beside, _above, _table, _check_boxes, _paragraph,
)  # fmt: skip


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
