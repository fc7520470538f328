"""Draw words on a page, record their boxes and tags, and distort the page like a scanner."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont

_WHITE = 255


@dataclass(frozen=True, slots=True)
class Face:
    """A font family of Matplotlib's font folder at a size in pixels."""

    family: str
    size: int

    def scaled(self, factor: float) -> "Face":
        return replace(self, size=round(self.size * factor))

    @property
    def bold(self) -> "Face":
        return replace(self, family=self.family + "-Bold")

    @property
    def leading(self) -> int:
        """Distance between two baselines in pixels."""
        return round(self.size * 1.45)

    def font(self) -> ImageFont.FreeTypeFont:
        return _font(self.family, self.size)

    def width(self, text: str) -> float:
        return self.font().getlength(text)


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

    Attributes:
        record: number of the record that the entities drawn next belong to; None for none.
    """

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("L", (width, height), _WHITE)
        self.marks: list[Mark] = []
        self.width = width
        self.record: int | None = None
        self._draw = ImageDraw.Draw(self.image)
        self._line = 0

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
        self._draw.line((*start, *end), fill=40, width=thickness)

    def frame(self, corner: tuple[float, float], opposite: tuple[float, float], thickness: int = 2) -> None:
        self._draw.rectangle((*corner, *opposite), outline=40, width=thickness)

    def _write(self, places: Sequence[tuple[float, float]], lines: Sequence[str], face: Face, kind: str) -> None:
        font, prefix = face.font(), "B"
        for (start, y), text in zip(places, lines, strict=True):
            x = start
            for word in text.split():
                self._draw.text((x, y), word, fill=0, font=font, anchor="ls")
                left, top, right, bottom = font.getbbox(word, anchor="ls")
                self.marks.append(
                    Mark(
                        text=word,
                        box=(x + left, y + top, x + right, y + bottom),
                        tag=f"{prefix}-{kind}" if kind else "O",
                        line=self._line,
                        group=self.record if kind else None,
                    )
                )
                x += font.getlength(word + " ")
                prefix = "I"
            self._line += 1


def wrapped(text: str, face: Face, room: float) -> list[str]:
    """The text in lines of at most `room` pixels, if each of its words fits."""
    lines: list[str] = []
    for word in text.split():
        if lines and face.width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def scanned(image: Image.Image, marks: Sequence[Mark], random: Random) -> tuple[Image.Image, list[Mark]]:
    """The page and its words after a simulated scan: rotation up to 0.8 degrees, grey paper, speckles, dark bands."""
    degrees = random.uniform(-0.8, 0.8)
    image = image.rotate(degrees, Image.Resampling.BILINEAR, fillcolor=_WHITE)
    rotated = [replace(mark, box=_rotated(mark.box, image.size, degrees)) for mark in marks]
    ink, paper = random.randint(0, 50), random.randint(225, 255)
    pixels = np.array(image.point([ink + (paper - ink) * level // _WHITE for level in range(_WHITE + 1)]))
    generator = np.random.default_rng(random.getrandbits(64))
    count = int(pixels.size * random.choice((0.0, 0.0001, 0.0002)))
    pixels.ravel()[generator.integers(0, pixels.size, count)] = generator.integers(60, 220, count, dtype=np.uint8)
    for _ in range(random.randrange(3)):  # darken bands across the page, like folds
        start, depth = random.randrange(pixels.shape[0]), random.randint(4, 14)
        band = pixels[start : start + random.randint(4, 40)]
        band -= np.minimum(band, np.uint8(depth))
    return Image.fromarray(pixels), rotated


def _rotated(box: Sequence[float], size: tuple[int, int], degrees: float) -> tuple[float, float, float, float]:
    """Bounds of `box` after an anticlockwise rotation about the centre, clipped to the page, rounded to 0.1 pixels."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    middle_x, middle_y = size[0] / 2, size[1] / 2
    corners = [(x - middle_x, y - middle_y) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs = [min(max(middle_x + x * cos + y * sin, 0.0), size[0]) for x, y in corners]
    ys = [min(max(middle_y - x * sin + y * cos, 0.0), size[1]) for x, y in corners]
    return round(min(xs), 1), round(min(ys), 1), round(max(xs), 1), round(max(ys), 1)


@lru_cache(maxsize=256)
def _font(family: str, size: int) -> ImageFont.FreeTypeFont:
    path = Path(mpl.get_data_path(), "fonts", "ttf", f"{family}.ttf")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
