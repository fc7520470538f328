"""Which words of a PDF's text layer a reader of the page sees."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.ocr.pdf import PdfPage

_DPI = 50.0
_LONGEST_SIDE = 4000
"""Pixels of the drawing; larger pages are drawn smaller."""
_STEP = 6
"""Least difference of two neighbouring pixels, of 255 levels, that is ink. A shade or a gradient has less."""
_POINTS = np.array([(down, across) for down in (0.3, 0.5, 0.7) for across in (0.1, 0.3, 0.5, 0.7, 0.9)]).T
"""Shares of a word's height and width, where its ink is looked for first."""
_POINTS_PER_INCH = 72
_LEAST_HEIGHT, _LETTERS = 0.75, 2
"""Points; lower words of at least so many letters are no larger than dots."""


@dataclass(frozen=True, slots=True)
class Painted:
    """How a word is painted.

    Attributes:
        item: the text object of its first character, or a null pointer.
        hidden: it is invisible text, or a picture is painted over its centre.
        over_picture: its centre lies on a picture, which may be painted before or after it.
    """

    item: Any
    hidden: bool
    over_picture: bool


class Ink:
    """Where an open page has ink: where the pixels of a small drawing of it differ from their neighbours."""

    def __init__(self, page: PdfPage) -> None:
        self._page, self._size = page, page.size

    def under(self, boxes: Sequence[Box]) -> list[bool]:
        """Whether there is ink in each box or at its edge."""
        sides = _sides(boxes)
        found = _has_edge(self._grey, sides)
        if not found.all():  # brown on blue can be as light as the blue
            found[~found] = _has_edge(self._colours, sides[~found])
        return found.tolist()

    @cached_property
    def _grey(self) -> NDArray[np.bool_]:
        return _edges(self._draw(grayscale=True))

    @cached_property
    def _colours(self) -> NDArray[np.bool_]:
        picture = self._draw()
        return np.logical_or.reduce([_edges(np.ascontiguousarray(picture[..., colour])) for colour in range(3)])

    def _draw(self, **options: bool) -> NDArray[np.uint8]:
        return self._page.draw(min(_DPI, _LONGEST_SIDE * _POINTS_PER_INCH / max(self._size)), **options)

    def is_low(self, boxes: Sequence[Box]) -> list[bool]:
        """Whether each box is no higher, or no wider, than a dot."""
        sides = _sides(boxes)
        low = ((sides[:, 2:] - sides[:, :2]) * self._size < _LEAST_HEIGHT).any(axis=1)
        return np.asarray(low).tolist()


def painted(
    items: Sequence[Any], boxes: Sequence[Box], objects: list[pdfium.PdfObject], pictures: dict[int, Box]
) -> Iterator[Painted]:
    """How each word is painted.

    Args:
        items: the text object of each word's first character.
        boxes: of the words.
        objects: text objects and pictures of the page, in the order in which they are painted.
        pictures: boxes of the pictures, by their number among `objects`.
    """
    order = {ctypes.addressof(item.raw.contents): rank for rank, item in enumerate(objects)} if pictures else {}
    for item, box in zip(items, boxes, strict=True):
        invisible = (
            bool(item) and pdfium_c.FPDFTextObj_GetTextRenderMode(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE
        )
        rank = order.get(ctypes.addressof(item.contents), 0) if item else 0
        around = [at for at in pictures if next(smallest_around([box], [pictures[at]])) is not None]
        yield Painted(item, invisible or any(at > rank for at in around), bool(around))


def inked(ink: Ink, words: Sequence[Word], items: Sequence[Any]) -> list[bool]:
    """Whether each word has ink in its place.

    A font that is not in the file may have no letters on this machine. A word in it counts as drawn, unless it is of
    ASCII letters, which each machine can draw.
    """
    boxes = [word.box for word in words]
    return [
        (seen and not (low and _has_letters(word))) or not (word.text.isascii() or _is_embedded(item))
        for seen, low, word, item in zip(ink.under(boxes), ink.is_low(boxes), words, items, strict=True)
    ]


def _has_letters(word: Word) -> bool:
    return sum(map(str.isalnum, word.text)) >= _LETTERS


def _sides(boxes: Sequence[Box]) -> NDArray[np.float64]:
    return np.array([(box.x0, box.y0, box.x1, box.y1) for box in boxes], dtype=np.float64).reshape(-1, 4)


def _edges(shade: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The pixels (height, width) that differ from the one to the left or above."""
    edges = np.zeros(shade.shape, dtype=np.bool_)
    edges[:, 1:] = _apart(shade[:, 1:], shade[:, :-1]) >= _STEP
    edges[1:] |= _apart(shade[1:], shade[:-1]) >= _STEP
    return edges


def _apart(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.maximum(one, other) - np.minimum(one, other)


def _has_edge(edges: NDArray[np.bool_], sides: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each box (n, 4) has a pixel of `edges` in it or beside it. Most words have one at a few points."""
    height, width = edges.shape
    rows = (sides[:, 1:2] + (sides[:, 3:] - sides[:, 1:2]) * _POINTS[0]) * height
    columns = (sides[:, :1] + (sides[:, 2:3] - sides[:, :1]) * _POINTS[1]) * width
    found = np.asarray(edges[rows.astype(int), columns.astype(int)].any(axis=1), dtype=np.bool_)
    for number in np.flatnonzero(~found):
        x0, y0, x1, y1 = sides[number].tolist()
        top, left = max(int(y0 * height) - 1, 0), max(int(x0 * width) - 1, 0)
        found[number] = edges[top : math.ceil(y1 * height) + 1, left : math.ceil(x1 * width) + 1].any()
    return found


def _is_embedded(item: Any) -> bool:
    return bool(item) and pdfium_c.FPDFFont_GetIsEmbedded(pdfium_c.FPDFTextObj_GetFont(item)) == 1
