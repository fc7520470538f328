"""Which words of a PDF's text layer a reader of the page sees."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    """Where a page has ink: where the pixels of a small drawing of it differ from their neighbours."""

    def __init__(self, page: PdfPage) -> None:
        size = page.shown.get_size()
        picture = page.draw(min(_DPI, _LONGEST_SIDE * _POINTS_PER_INCH / max(size)))
        height, width, colours = picture.shape
        edges = np.zeros((height + 1, width + 1), dtype=np.bool_)
        for colour in range(colours):  # brown on blue is as light as it
            shade = np.ascontiguousarray(picture[..., colour])
            edges[1:, 1:-1] |= _apart(shade[:, 1:], shade[:, :-1]) >= _STEP
            edges[1:-1, 1:] |= _apart(shade[1:], shade[:-1]) >= _STEP
        # The number of edges above and to the left of each pixel.
        self._sums = edges.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)
        self._pixels, self._size = np.array([width, height]), size

    def under(self, boxes: Sequence[Box]) -> NDArray[np.bool_]:
        """Whether there is ink in each box or at its edge: (boxes,)."""
        sides = np.array([(box.x0, box.y0, box.x1, box.y1) for box in boxes]).reshape(-1, 2, 2)
        x0, y0 = np.maximum((sides[:, 0] * self._pixels).astype(int) - 1, 0).T
        x1, y1 = np.minimum(np.ceil(sides[:, 1] * self._pixels).astype(int) + 1, self._pixels).T
        sums = self._sums
        return sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0] > 0

    def is_tiny(self, word: Word) -> bool:
        """Whether a word of several letters is no higher than a dot."""
        box = word.box
        low = min((box.x1 - box.x0) * self._size[0], (box.y1 - box.y0) * self._size[1]) < _LEAST_HEIGHT
        return low and sum(map(str.isalnum, word.text)) >= _LETTERS


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
    return [
        (seen and not ink.is_tiny(word)) or not (word.text.isascii() or _is_embedded(item))
        for seen, word, item in zip(ink.under([word.box for word in words]).tolist(), words, items, strict=True)
    ]


def _apart(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.maximum(one, other) - np.minimum(one, other)


def _is_embedded(item: Any) -> bool:
    return bool(item) and pdfium_c.FPDFFont_GetIsEmbedded(pdfium_c.FPDFTextObj_GetFont(item)) == 1
