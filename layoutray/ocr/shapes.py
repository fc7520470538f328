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
        ranks, sides = ranks[thick], sides[thick]
        for rank, kind, box in zip(ranks.tolist(), kinds[ranks].tolist(), to_page_boxes(sides), strict=True):
            is_path, item = kind == pdfium_c.FPDF_PAGEOBJ_PATH, objects.items[rank]
            filled, width = calls.outline_of(item) if is_path else (True, 0.0)
            if box is None or not (filled or width > _THIN):
                continue
            x0, y0, x1, y1 = (round(side) for side in box.to_pixels(_CELLS, _CELLS))
            self.last[y0:y1, x0:x1] = rank
            if kind != pdfium_c.FPDF_PAGEOBJ_IMAGE:
                self.last_shape[y0:y1, x0:x1] = rank
            if not (is_path and filled and min(calls.fill_colors([item])[0]) >= _LIGHT):
                self.dark[y0:y1, x0:x1] = True
