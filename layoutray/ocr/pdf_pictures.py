"""Where the pictures on a PDF page lie, and what is painted after what."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.document import Box

Place = Callable[[float, float, float, float], Box | None]
"""From (left, bottom, right, top) in the page's own coordinates to shares of the page as shown; None outside of it."""

_FINENESS = 1_000_000  # PDFium maps to whole numbers; a millionth of a page is finer than any pixel
_SMALLEST = 0.001  # share of the page; bullets hide no text, but a scan may come in hundreds of strips
_CONTENT = (pdfium_c.FPDF_PAGEOBJ_TEXT, pdfium_c.FPDF_PAGEOBJ_IMAGE)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture on the page, and its rank in the order of painting."""

    box: Box
    painted: int


def place_on(page: pdfium.PdfPage) -> Place:
    """The mapping that cropping and turning the page make."""
    x, y = ctypes.c_int(), ctypes.c_int()

    def point(across: float, up: float) -> tuple[float, float]:
        pdfium_c.FPDF_PageToDevice(page, 0, 0, _FINENESS, _FINENESS, 0, across, up, x, y)
        return x.value / _FINENESS, y.value / _FINENESS

    def place(left: float, bottom: float, right: float, top: float) -> Box | None:
        (xa, ya), (xb, yb) = point(left, bottom), point(right, top)
        x0, x1, y0, y1 = min(xa, xb), max(xa, xb), min(ya, yb), max(ya, yb)
        if x1 <= 0 or x0 >= 1 or y1 <= 0 or y0 >= 1 or (x0 == x1 and y0 == y1):
            return None
        return Box(max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0))

    return place


def pictures_of(page: pdfium.PdfPage, place: Place) -> list[Picture]:
    """Pictures of more than a thousandth of the page; soft-edged and nested ones count with their whole rectangle."""
    found: list[Picture] = []
    for rank, item in enumerate(page.get_objects(_CONTENT)):
        if isinstance(item, pdfium.PdfImage):
            box = place(*_bounds(item))
            if box is not None and box.area > _SMALLEST:
                found.append(Picture(box, rank))
    return found


def paint_order(page: pdfium.PdfPage) -> dict[int, int]:
    """Rank of each text and picture in the order of painting, by the address of its PDFium object."""
    return {ctypes.addressof(item.raw.contents): rank for rank, item in enumerate(page.get_objects(_CONTENT))}


def _bounds(item: pdfium.PdfObject) -> tuple[float, float, float, float]:
    """(left, bottom, right, top) in the page's coordinates, through every form that the object is nested in."""
    left, bottom, right, top = item.get_bounds()
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    container = item.container
    while container is not None:
        matrix = container.get_matrix()
        corners = [matrix.on_point(*corner) for corner in corners]
        container = container.container
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
