"""Where a PDF page has shapes, shadings and pictures, before and behind its words."""

import numpy as np
import pypdfium2.raw as pdfium_c

from layoutray.ocr import calls
from layoutray.ocr.objects import PageObjects
from layoutray.ocr.pdf import ToPageBoxes

_CELLS = 256
"""Rows and columns of the grid."""
_THIN = 2.0
"""Points. A thinner line, or outline, hides no word."""
_LIGHT = 192
"""Least red, green and blue, of 255, of a ground on which dark letters are seen."""


class Shapes:
    """Shapes, shadings and pictures on a grid, without thin lines and frames.

    Attributes:
        last: the rank of the one that was painted last on a cell, (rows, columns); -1 without one.
        last_shape: the same without pictures.
        dark: whether a cell has one that is not of a plain light colour, (rows, columns).
    """

    def __init__(self, objects: PageObjects, to_page_boxes: ToPageBoxes) -> None:
        self.last, self.last_shape = (np.full((_CELLS, _CELLS), -1, dtype=np.int64) for _ in range(2))
        self.dark = np.zeros((_CELLS, _CELLS), dtype=np.bool_)
        kinds = np.array(objects.kinds, dtype=np.int64)
        ranks = np.flatnonzero(kinds != pdfium_c.FPDF_PAGEOBJ_TEXT)
        sides = objects.sides(ranks)
        thick = (sides[:, 2:] - sides[:, :2] > _THIN).all(axis=1)
        ranks, boxes = ranks[thick], to_page_boxes(sides[thick])
        items = [objects.items[rank] for rank in ranks.tolist()]
        is_path = kinds[ranks] == pdfium_c.FPDF_PAGEOBJ_PATH
        filled, widths = calls.outlines(items)
        frames = is_path & ~filled & (widths <= _THIN)
        light = is_path & filled & (calls.fill_colors(items)[:, :3] >= _LIGHT).all(axis=1)
        for number in np.flatnonzero(~frames).tolist():
            if (box := boxes[number]) is not None:
                x0, y0, x1, y1 = (round(side) for side in box.to_pixels(_CELLS, _CELLS))
                self.last[y0:y1, x0:x1] = ranks[number]
                self.dark[y0:y1, x0:x1] |= not light[number]
                if kinds[ranks[number]] != pdfium_c.FPDF_PAGEOBJ_IMAGE:
                    self.last_shape[y0:y1, x0:x1] = ranks[number]
