"""Draw words on a page and record their boxes and tags."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from PIL import Image, ImageDraw, ImageFont

WHITE = 255
_BOLD = {"STIXGeneral": "STIXGeneralBol"}
"""Names of bold families that do not end with `-Bold`."""

_SMALLEST = 4
"""Size of the smallest letters in pixels."""

Run = tuple[str, str]
"""A text, and the type of the entity that it is or an empty one. Line breaks in the text break the line."""
Side = Literal["left", "centre", "right"]


@dataclass(frozen=True, slots=True)
class Face:
    """A font family of Matplotlib's font folder at a size in pixels."""

    family: str
    size: int

    def scaled(self, factor: float) -> "Face":
        return replace(self, size=round(self.size * factor))

    @property
    def bold(self) -> "Face":
        return replace(self, family=_BOLD.get(self.family, f"{self.family.removesuffix('-Bold')}-Bold"))

    @property
    def leading(self) -> int:
        """Distance between two baselines in pixels."""
        return round(self.size * 1.45)

    def font(self) -> ImageFont.FreeTypeFont:
        return _font(self.family, self.size)

    def width(self, text: str) -> float:
        return self.font().getlength(text)

    def fitted(self, text: str, room: float) -> "Face":
        """The face, smaller if the text needs more than `room` pixels."""
        face = self
        while face.size > _SMALLEST and face.width(text) > room:
            face = replace(face, size=face.size - 1)
        return face


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A drawn word with its box in pixels, its IOB2 tag, its line number, and the number of its record if any."""

    text: str
    box: tuple[float, float, float, float]
    tag: str
    line: int
    group: int | None = None


class Canvas:
    """A white page in 8-bit grey. A position is the left end of a line's baseline, in pixels.

    Args:
        letters: changes all texts, for example `str.upper`.
        tilt: standard deviation of the angle at which the page is scanned, in degrees.

    Attributes:
        record: number of the record that the entities drawn next belong to; None for none.
        values: what the fields of the page state, by kind.
    """

    def __init__(self, width: int, height: int, letters: Callable[[str], str] = str, tilt: float = 0.4) -> None:
        self.image = Image.new("L", (width, height), WHITE)
        self.marks: list[Mark] = []
        self.width = width
        self.tilt = tilt
        self.record: int | None = None
        self.values: Mapping[str, str] = {}
        self.letters = letters
        self.pen = ImageDraw.Draw(self.image)
        self._line = 0

    def flow(self, at: tuple[float, float], room: float, runs: Sequence[Run], face: Face, side: Side = "left") -> float:
        """Write runs of words into lines of `room` pixels. Returns the baseline below the last line."""
        left, y = at
        runs = [(self.letters(text), kind) for text, kind in runs]
        for line in _broken(runs, face, room):
            text = " ".join(word for word, _ in line)
            fitted = face.fitted(text, room)
            spare = room - fitted.width(text)
            x = left + {"left": 0.0, "centre": spare / 2, "right": spare}[side]
            for word, tag in line:
                self._word((x, y), word, fitted, tag)
                x += fitted.width(word + " ")
            self._line += 1
            y += face.leading
        return y

    def write(self, at: tuple[float, float], text: str, face: Face, kind: str = "") -> None:
        """Write one line of text. All its words are one entity of type `kind`; an empty `kind` makes no entity."""
        self.write_block(at, [text], face, kind)

    def write_right(self, at: tuple[float, float], text: str, face: Face, kind: str = "") -> None:
        """Write one line of text whose right end is at `at`."""
        self.write((at[0] - face.width(text), at[1]), text, face, kind)

    def write_centred(self, y: float, lines: Sequence[str], face: Face, kind: str = "") -> None:
        """Write centred lines, which together are one entity."""
        places = [((self.width - face.width(text)) / 2, y + at * face.leading) for at, text in enumerate(lines)]
        self._write(places, lines, face, kind)

    def write_block(self, at: tuple[float, float], lines: Sequence[str], face: Face, kind: str = "") -> None:
        """Write left-aligned lines, which together are one entity."""
        self._write([(at[0], at[1] + index * face.leading) for index in range(len(lines))], lines, face, kind)

    def rule(self, start: tuple[float, float], end: tuple[float, float], thickness: int = 2) -> None:
        self.pen.line((*start, *end), fill=40, width=thickness)

    def frame(self, corner: tuple[float, float], opposite: tuple[float, float], thickness: int = 2) -> None:
        self.pen.rectangle((*corner, *opposite), outline=40, width=thickness)

    def symbol(self, box: tuple[float, float, float, float], text: str, kind: str = "") -> None:
        """Note what was drawn in a box as a word of a line of its own."""
        self.marks.append(Mark(text=text, box=box, tag=f"B-{kind}" if kind else "O", line=self._line))
        self._line += 1

    def _write(self, places: Sequence[tuple[float, float]], lines: Sequence[str], face: Face, kind: str) -> None:
        prefix = "B"
        for (start, y), text in zip(places, lines, strict=True):
            x = start
            for word in self.letters(text).split():
                self._word((x, y), word, face, f"{prefix}-{kind}" if kind else "O")
                x += face.width(word + " ")
                prefix = "I"
            self._line += 1

    def _word(self, at: tuple[float, float], word: str, face: Face, tag: str) -> None:
        x, y = at
        self.pen.text(at, word, fill=0, font=face.font(), anchor="ls")
        left, top, right, bottom = face.font().getbbox(word, anchor="ls")
        box = (x + left, y + top, x + right, y + bottom)
        group = self.record if tag != "O" else None
        self.marks.append(Mark(text=word, box=box, tag=tag, line=self._line, group=group))


def _broken(runs: Sequence[Run], face: Face, room: float) -> Iterator[list[tuple[str, str]]]:
    """Lines of words with their tags."""
    line: list[tuple[str, str]] = []
    for text, kind in runs:
        prefix = "B"
        for number, part in enumerate(text.split("\n")):
            if number and line:
                yield line
                line = []
            for word in part.split():
                if line and face.width(" ".join([*(one for one, _ in line), word])) > room:
                    yield line
                    line = []
                line.append((word, f"{prefix}-{kind}" if kind else "O"))
                prefix = "I"
    if line:
        yield line


def wrapped(text: str, face: Face, room: float) -> list[str]:
    """The text in lines of at most `room` pixels, if each of its words fits."""
    lines: list[str] = []
    for word in text.split():
        if lines and face.width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


@lru_cache(maxsize=256)
def _font(family: str, size: int) -> ImageFont.FreeTypeFont:
    path = Path(mpl.get_data_path(), "fonts", "ttf", f"{family}.ttf")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def by_rows(marks: Sequence[Mark]) -> list[Mark]:
    """The words row by row, as OCR reads them, except that the words of an entity stay together."""
    parts: list[list[Mark]] = []
    for mark in marks:
        if mark.tag.startswith("I") or (
            parts and mark.tag == "O" == parts[-1][-1].tag and parts[-1][-1].line == mark.line
        ):
            parts[-1].append(mark)
        else:
            parts.append([mark])
    rows: list[list[list[Mark]]] = []
    bottom = 0.0
    for part in sorted(parts, key=lambda part: part[0].box[3]):
        box = part[0].box
        if not rows or box[1] + 0.5 * (box[3] - box[1]) > bottom:
            rows.append([])
            bottom = box[3]
        rows[-1].append(part)
    return [mark for row in rows for part in sorted(row, key=lambda part: part[0].box[0]) for mark in part]
