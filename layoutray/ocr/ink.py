"""Where a page has ink, by a small drawing of it."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box
from layoutray.ocr.pdf import PdfPage

_DPI = 50.0
_LONGEST_SIDE = 4000
"""Pixels of the drawing; larger pages are drawn smaller."""
_STEP = 6
"""Least difference of two pixels, of 255 levels, that is ink. Neighbours in a shade or a gradient have less."""
_POINTS = np.array([(down, across) for down in (0.3, 0.5, 0.7) for across in (0.1, 0.3, 0.5, 0.7, 0.9)]).T
"""Shares of a box's height and width."""
_POINTS_PER_INCH = 72


class Ink:
    """Where an open page has ink: where the pixels of a small drawing of it differ from their neighbours."""

    def __init__(self, page: PdfPage) -> None:
        self._page = page

    def under(self, boxes: Sequence[Box]) -> list[bool]:
        """Whether there is ink in each box or at its edge."""
        if not boxes:
            return []
        sides = np.array([(box.x0, box.y0, box.x1, box.y1) for box in boxes], dtype=np.float64)
        found = _has_edge(self._grey, sides)
        if not found.all():  # brown on blue can be as light as the blue
            found[~found] = _has_edge(self._colours, sides[~found])
        return found.tolist()

    @cached_property
    def _grey(self) -> NDArray[np.bool_]:
        return _edges(small_drawing(self._page, grayscale=True))

    @cached_property
    def _colours(self) -> NDArray[np.bool_]:
        picture = small_drawing(self._page)
        return np.logical_or.reduce([_edges(np.ascontiguousarray(picture[..., colour])) for colour in range(3)])


def small_drawing(page: PdfPage, **options: bool) -> NDArray[np.uint8]:
    """The page drawn at 50 dpi, (height, width, 3) or, with `grayscale=True`, (height, width)."""
    return page.draw(min(_DPI, _LONGEST_SIDE * _POINTS_PER_INCH / max(page.size)), **options)


def apart(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether pixels differ by a step."""
    return np.maximum(one, other) - np.minimum(one, other) >= _STEP


def _edges(shade: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The pixels (height, width) that differ from the one to the left or above."""
    edges = np.zeros(shade.shape, dtype=np.bool_)
    edges[:, 1:] = apart(shade[:, 1:], shade[:, :-1])
    edges[1:] |= apart(shade[1:], shade[:-1])
    return edges


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
