"""Shapes, shadings and pictures of a PDF page before and behind its words."""

from dataclasses import dataclass

import numpy as np
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.ocr import calls
from layoutray.ocr.objects import PageObjects
from layoutray.ocr.pdf import ToPageSides

_THIN = 2.0
"""Points. A thinner line, or outline, hides no word."""
_LIGHT = 192
"""Least red, green and blue, of 255, of a ground on which dark letters are seen."""
_INNER = np.array((0.1, 0.3, -0.1, -0.3))
"""Shares of its width and height by which a word is made smaller: neighbours may touch it."""
_PAIRS = 1 << 20
"""Words and shapes that are compared at a time."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What lies before and behind words, without thin lines and frames.

    Attributes:
        is_light: all that touches a word was painted before it, in plain light colours, (n,).
        is_under: a shape or shading that was painted after the word, and is no picture, has the whole word, (n,).
    """

    is_light: NDArray[np.bool_]
    is_under: NDArray[np.bool_]


def ground_of(
    words: NDArray[np.float64], ranks: NDArray[np.int64], objects: PageObjects, to_page_sides: ToPageSides
) -> Ground:
    """What lies before and behind words.

    Args:
        words: sides of words, relative to the page, (n, 4).
        ranks: of the words among the objects, (n,).
    """
    shapes = objects.ranks(pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_SHADING)
    sides = objects.sides(shapes)
    thick = (sides[:, 2:] - sides[:, :2] > _THIN).all(axis=1)
    sides, shapes = to_page_sides(sides[thick]), shapes[thick]
    covers, light = _paint([objects.items[rank] for rank in shapes.tolist()], objects.kinds[shapes])
    covers &= ~light | (shapes > ranks.min(initial=len(objects.items)))  # most pages have no more than a white ground
    sides, shapes, light = sides[covers], shapes[covers], light[covers]
    ground = Ground(np.ones(len(words), dtype=np.bool_), np.zeros(len(words), dtype=np.bool_))
    is_shape = objects.kinds[shapes] != pdfium_c.FPDF_PAGEOBJ_IMAGE
    if not len(shapes):
        return ground
    inner = words + np.tile(words[:, 2:] - words[:, :2], 2) * _INNER
    x0, y0, x1, y1 = inner.T[..., None]
    step = max(_PAIRS // max(len(words), 1), 1)
    for start in range(0, len(shapes), step):
        left, top, right, bottom = sides[start : start + step].T
        word, shape = np.nonzero((left < x1) & (right > x0) & (top < y1) & (bottom > y0))
        shape += start
        later = shapes[shape] > ranks[word]
        ground.is_light[word[later | ~light[shape]]] = False
        contains = ((sides[shape, :2] <= inner[word, :2]) & (sides[shape, 2:] >= inner[word, 2:])).all(axis=1)
        ground.is_under[word[later & contains & is_shape[shape]]] = True
    return ground


def _paint(items: list[int], kinds: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether objects are more than a frame, and whether they are filled with a plain light colour, both (n,)."""
    is_path = kinds == pdfium_c.FPDF_PAGEOBJ_PATH
    filled, widths = calls.outlines(items)
    light = (calls.fill_colors(items)[:, :3] >= _LIGHT).all(axis=1)
    return ~is_path | filled | (widths > _THIN), is_path & filled & light
