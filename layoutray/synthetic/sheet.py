"""A page that is being drawn: its style, the values of its document, and columns that fill from top to bottom."""

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from layoutray.synthetic.bills import Bill
from layoutray.synthetic.canvas import Canvas, Face, Run, Side
from layoutray.synthetic.wordings import wordings

FIELDS = tuple(wordings())
"""Kinds of entities that are fields of a page."""
AMOUNTS = frozenset({"subtotal", "tax", "total", "discount", "shipping", "rounding", "paid", "change"})
_JOINED = frozenset({"date", "total", "due_date"})
"""Kinds whose values are recognised within a word, so that a label may be printed without a space."""


@dataclass(slots=True, kw_only=True)
class Sheet:
    """A page, its style and its content.

    Attributes:
        face: of the body.
        end: behind a label, for example a colon.
        upper: whether labels are in capitals.
        itemised: whether line items are entities.
        printed: kinds of values that are on the page.
    """

    canvas: Canvas
    bill: Bill
    random: Random
    face: Face
    end: str
    upper: bool
    itemised: bool
    printed: set[str] = field(default_factory=set[str])

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pending(self, *kinds: str) -> list[str]:
        """Those of the kinds that the page does not have yet, in random order."""
        return self.random.sample(left := [kind for kind in kinds if kind not in self.printed], len(left))

    def words(self, name: str) -> str:
        return self.random.choice(self.bill.phrases[name])

    def wording(self, kind: str, room: float = math.inf) -> str:
        """How a kind of value is called, without an end: a wording that fits into `room` pixels, if there is one."""
        known = [found.upper() if self.upper else found for found in wordings()[kind][self.bill.country.language]]
        fitting = [found for found in known if self.face.width(self.canvas.letters(found)) <= room]
        return self.random.choice(fitting or [min(known, key=len)])

    def label(self, kind: str) -> str:
        """A wording with what stands behind labels."""
        return self.wording(kind) + self.end

    def value(self, kind: str) -> list[Run]:
        """The value, with the sign of the currency if it is an amount."""
        self.printed.add(kind)
        text = self.bill.values[kind]
        if kind not in AMOUNTS:
            return [(text, kind)]
        runs = amount(self.bill.pattern, text, kind)
        self.printed |= {kind for _, kind in runs if kind}
        return runs

    def printed_values(self) -> dict[str, str]:
        """What the document states, by kind."""
        values = self.bill.values
        return {kind: self.canvas.letters(values[kind].replace("\n", " ")) for kind in sorted(self.printed)}

    def labelled(self, kind: str) -> list[Run]:
        """Label and value behind each other; few are one word."""
        label, (first, *others) = self.label(kind), self.value(kind)
        if kind in _JOINED and first[1] == kind and self.end == ":" and self.chance(0.15):
            return [(f"{label}{first[0]}", kind), *others]
        at = self.value("time") if kind == "date" and self.chance(0.2) else []
        return [(label, ""), first, *others, *at]


def amount(pattern: str, text: str, kind: str) -> list[Run]:
    """An amount and the sign of its currency, which is a part of its word or, behind a space, a word of its own."""
    before, after = pattern.split("{}")
    sign = "currency" if kind == "total" else ""
    middle = (before if before and before[-1] != " " else "") + text + (after if after and after[0] != " " else "")
    return [
        *([(before.strip(), sign)] if before.endswith(" ") else []),
        (middle, kind),
        *([(after.strip(), sign)] if after.startswith(" ") else []),
    ]


@dataclass(slots=True)
class Column:
    """A part of a page between two sides, in pixels; `y` is the baseline of the next line."""

    sheet: Sheet
    left: float
    right: float
    y: float

    @property
    def room(self) -> float:
        return self.right - self.left

    def write(self, runs: str | Sequence[Run], face: Face | None = None, side: Side = "left") -> None:
        """Write a text, or runs of words, into as many lines as they need."""
        runs = [(runs, "")] if isinstance(runs, str) else runs
        self.y = self.sheet.canvas.flow((self.left, self.y), self.room, runs, face or self.sheet.face, side)

    def cell(
        self, start: float, end: float, runs: Sequence[Run], face: Face | None = None, side: Side = "left"
    ) -> None:
        """Write runs between two places of the present line, in smaller letters if they are too long."""
        face = face or self.sheet.face
        runs = [(text.replace("\n", " "), kind) for text, kind in runs]
        text = self.sheet.canvas.letters(" ".join(text for text, _ in runs))
        self.sheet.canvas.flow((start, self.y), end - start, runs, face.fitted(text, 0.98 * (end - start)), side)

    def skip(self, lines: float = 1.0) -> None:
        self.y += lines * self.sheet.face.leading

    def rule(self, dashed: bool = False) -> None:
        """Draw a line, or write dashes, between this line and the next."""
        face = self.sheet.face
        if dashed:
            sign = self.sheet.random.choice("-=*_.")
            self.write(sign * int(self.room / face.width(sign)))
        else:
            self.sheet.canvas.rule((self.left, self.y - 0.6 * face.size), (self.right, self.y - 0.6 * face.size))
            self.skip(0.5)

    def split(self, share: float) -> tuple["Column", "Column"]:
        """Two columns beside each other, of which the left one has `share` of the room."""
        middle, gap = self.left + share * self.room, 0.7 * self.sheet.face.size
        return Column(self.sheet, self.left, middle - gap, self.y), Column(self.sheet, middle + gap, self.right, self.y)

    def below(self, columns: Iterable["Column"]) -> None:
        self.y = max(column.y for column in columns)


def printer(random: Random, upper: float) -> Callable[[str], str]:
    """What a printer makes of texts: capitals on a share of pages, and no accents on some of these."""
    if random.random() >= upper:
        return str
    if random.random() < 0.3:
        return lambda text: _plain(text).upper()
    return str.upper


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.replace("ł", "l").replace("Ł", "L").replace("ı", "i"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
