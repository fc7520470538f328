"""Positions of the pictures on a PDF page, and the painting order of its objects."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.document import Box

ToPageBox = Callable[[float, float, float, float], Box | None]
"""Maps (left, bottom, right, top) in PDF coordinates to a box relative to the shown page; None outside the page."""

_RESOLUTION = 1_000_000  # PDFium maps to integers; a millionth of a page is finer than any pixel
_MIN_AREA = 0.001  # share of the page; smaller pictures (bullets) hide no text, but scans may consist of strips
_CONTENT = (pdfium_c.FPDF_PAGEOBJ_TEXT, pdfium_c.FPDF_PAGEOBJ_IMAGE)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture on the page, and its rank in the painting order."""

    box: Box
    rank: int


def page_box_mapping(page: pdfium.PdfPage) -> ToPageBox:
    """The mapping from PDF coordinates to the cropped and rotated page."""
    x, y = ctypes.c_int(), ctypes.c_int()

    def point(across: float, up: float) -> tuple[float, float]:
        pdfium_c.FPDF_PageToDevice(page, 0, 0, _RESOLUTION, _RESOLUTION, 0, across, up, x, y)
        return x.value / _RESOLUTION, y.value / _RESOLUTION

    def to_page_box(left: float, bottom: float, right: float, top: float) -> Box | None:
        (xa, ya), (xb, yb) = point(left, bottom), point(right, top)
        x0, x1, y0, y1 = min(xa, xb), max(xa, xb), min(ya, yb), max(ya, yb)
        if x1 <= 0 or x0 >= 1 or y1 <= 0 or y0 >= 1 or (x0 == x1 and y0 == y1):
            return None
        return Box(max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0))

    return to_page_box


def pictures_of(page: pdfium.PdfPage, to_page_box: ToPageBox) -> list[Picture]:
    """Pictures larger than a thousandth of the page, with their bounding rectangles, also of masked and nested ones."""
    pictures: list[Picture] = []
    for rank, item in enumerate(page.get_objects(_CONTENT)):
        if isinstance(item, pdfium.PdfImage):
            box = to_page_box(*_bounds(item))
            if box is not None and box.area > _MIN_AREA:
                pictures.append(Picture(box, rank))
    return pictures


def paint_order(page: pdfium.PdfPage) -> dict[int, int]:
    """Rank in the painting order of each text and picture object, by the address of its PDFium object."""
    return {ctypes.addressof(item.raw.contents): rank for rank, item in enumerate(page.get_objects(_CONTENT))}


def _bounds(item: pdfium.PdfObject) -> tuple[float, float, float, float]:
    """(left, bottom, right, top) in PDF coordinates, transformed by all form objects that contain the object."""
    left, bottom, right, top = item.get_bounds()
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    container = item.container
    while container is not None:
        matrix = container.get_matrix()
        corners = [matrix.on_point(*corner) for corner in corners]
        container = container.container
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
