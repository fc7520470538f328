"""From the characters of a line to its words, with boxes that fit the ink."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.ocr.ppocr.ctc import LEAST_SPACE, Character, Reading

_GAP = 0.5
"""Least width of a blank that separates two words without a space, as a share of the line's height."""
_GAP_IN_AMOUNT = 1.5
"""Least width of a blank that separates an amount from two decimals at the end of a line, as a share of its height."""
_DECIMALS = re.compile(r"(?<=\d)[.,]\d\d$")
_IN_BRACKETS = 3
"""Least number of characters in brackets that are a word of their own; `name(s)` is one word."""
_MARGIN = 0.1
"""Distance of a box from its word's ink, as a share of the ink's height. Boxes that people draw have one too."""
_INK_ROWS = 0.06
"""Least share of a column's rows, or of a row's columns, with ink; less is noise."""


@dataclass(frozen=True, slots=True)
class LineWord:
    """A word of a line.

    Attributes:
        sides: x0, y0, x1, y1 in pixels of the line's picture.
        confidence: mean over its characters, 0..1.
        characters: the numbers of its characters in the line.
    """

    text: str
    sides: tuple[float, float, float, float]
    confidence: float
    characters: range


def words_of(reading: Reading, line: NDArray[np.uint8]) -> list[LineWord]:
    """The words of a line from left to right. `line`: the grey picture (height, width) that was read."""
    characters = reading.characters
    if not characters:
        return []
    _, dark = cv2.threshold(line, 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    ink = np.asarray(dark, dtype=np.bool_)
    ink = ~ink if ink.mean() > 0.5 else ink  # the rarer of the line's two shades is taken for ink
    columns = ink.mean(axis=0) >= _INK_ROWS
    height, width = ink.shape
    centres = [reading.column(one) * width for one in characters]
    gaps = [_gap(columns, before, after) for before, after in pairwise(centres)]
    decimals = _decimals(characters)
    breaks = [
        number
        for number, (gap, after) in enumerate(zip(gaps, characters[1:], strict=True))
        if _separates(gap, after, height, number + 1 in decimals)
        or _opens_bracket(characters, number + 1)
        or _follows_label(characters, number + 1)
    ]
    inked = np.flatnonzero(columns)
    left, right = (float(inked[0]), float(inked[-1] + 1)) if len(inked) else (0.0, float(width))
    starts = [min(left, centres[0]), *(gaps[number][1] for number in breaks)]
    ends = [*(gaps[number][0] for number in breaks), max(right, centres[-1])]
    bounds = pairwise([0, *(number + 1 for number in breaks), len(characters)])
    return [
        _word(reading, range(*numbers), ink, start, end)
        for numbers, start, end in zip(bounds, starts, ends, strict=True)
    ]


def _separates(gap: tuple[float, float], after: Character, height: int, in_amount: bool) -> bool:
    """Whether a blank before the character `after` separates two words."""
    width = (gap[1] - gap[0]) / height
    return width >= _GAP_IN_AMOUNT if in_amount else after.space_before >= LEAST_SPACE or width >= _GAP


def _decimals(characters: Sequence[Character]) -> Sequence[int]:
    """The numbers of the point and of the first decimal of an amount at the end of a line; none without an amount.

    In print, a blank may stand before either, as in `RM20. 40` and `71 .00`.
    """
    match = _DECIMALS.search("".join(one.text for one in characters))
    return (match.start(), match.start() + 1) if match else ()


def _opens_bracket(characters: Sequence[Character], number: int) -> bool:
    """Whether a bracket around at least three characters follows a letter. In print a space comes before it."""
    text = "".join(one.text for one in characters[number : number + _IN_BRACKETS + 1])
    return characters[number - 1].text.isalpha() and re.fullmatch(rf"\([^()]{{{_IN_BRACKETS}}}", text) is not None


def _follows_label(characters: Sequence[Character], number: int) -> bool:
    """Whether a digit follows letters and a colon, as in `Date:10/10/17`. Most are printed with a space."""
    before, colon, digit = (one.text for one in characters[number - 2 : number + 1]) if number > 1 else ("", "", "")
    return before.isalpha() and colon == ":" and digit.isdecimal()


def _gap(columns: NDArray[np.bool_], before: float, after: float) -> tuple[float, float]:
    """Start and end of the widest blank between the centres of two characters; their middle when ink joins them."""
    first, last = int(before), max(int(np.ceil(after)), int(before) + 1)
    inked = np.concatenate(([True], columns[first:last], [True]))
    edges = np.flatnonzero(inked[1:] != inked[:-1])
    if not len(edges):
        middle = (before + after) / 2
        return middle, middle
    starts, ends = edges[::2], edges[1::2]
    widest = int(np.argmax(ends - starts))
    return float(first + starts[widest]), float(first + ends[widest])


def _word(reading: Reading, numbers: range, ink: NDArray[np.bool_], left: float, right: float) -> LineWord:
    first = min(int(left), ink.shape[1] - 1)
    rows = np.flatnonzero(ink[:, first : max(int(np.ceil(right)), first + 1)].mean(axis=1) >= _INK_ROWS)
    top, bottom = (float(rows[0]), float(rows[-1] + 1)) if len(rows) else (0.0, float(len(ink)))
    margin = _MARGIN * (bottom - top)
    sides = (left - margin, top - margin, right + margin, bottom + margin)
    characters = reading.characters[numbers.start : numbers.stop]
    confidence = sum(character.confidence for character in characters) / len(characters)
    return LineWord("".join(character.text for character in characters), sides, min(confidence, 1.0), numbers)
