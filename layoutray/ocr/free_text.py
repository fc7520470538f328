"""Text annotations that a viewer draws itself, because the file has no appearance of them.

In a document with a form, PDFium makes an appearance when it opens the page: one line, which ends with the area.
"""

import contextlib
import ctypes
import itertools
import math
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.ocr import calls

_DEFAULT_SIZE = 12.0
_LINE, _SPACE = 1.2, 0.28
"""Distance of lines, and width of a space, in font sizes."""


class FreeText(NamedTuple):
    """A text, its font size in points, and the sides of its area in PDF coordinates."""

    text: str
    size: float
    left: float
    bottom: float
    right: float
    top: float


def of(annotation: Any) -> FreeText | None:
    """The text of an annotation that has no appearance; None of other annotations."""
    is_free_text = pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_FREETEXT
    if not is_free_text or pdfium_c.FPDFAnnot_HasKey(annotation, b"AP"):
        return None
    area = pdfium_c.FS_RECTF()
    pdfium_c.FPDFAnnot_GetRect(annotation, area)
    size = _font_size(calls.text(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"DA"))
    contents = calls.text(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents")
    return FreeText(contents, size, area.left, area.bottom, area.right, area.top)


def _font_size(operators: str) -> float:
    """The operand before the operator Tf."""
    for operand, operator in itertools.pairwise(operators.split()):
        if operator == "Tf":
            with contextlib.suppress(ValueError):
                if 0 < (size := float(operand)) < math.inf:
                    return size
    return _DEFAULT_SIZE


def write(annotation: FreeText, document: pdfium.PdfDocument, page: pdfium.PdfPage) -> None:
    """Put the words of an annotation on a page, in lines that fit into its area, as far as they fit.

    The font is Helvetica; letters that it does not have are left out.
    """
    text, size, left, bottom, right, top = annotation
    down = top - size
    for line in text.splitlines():
        across = left
        for word in line.split():
            item = pdfium_c.FPDFPageObj_NewTextObj(document, b"Helvetica", size)
            units = f"{word}\0".encode("utf-16-le")
            pdfium_c.FPDFText_SetText(item, (ctypes.c_ushort * (len(units) // 2)).from_buffer_copy(units))
            width = float(calls.bounds([ctypes.addressof(item.contents)])[0, 2])
            if across > left and across + width > right:
                across, down = left, down - _LINE * size
            if down < min(bottom, top - size):
                pdfium_c.FPDFPageObj_Destroy(item)
                return
            pdfium_c.FPDFPageObj_Transform(item, 1, 0, 0, 1, across, down)
            pdfium_c.FPDFPage_InsertObject(page, item)
            across += width + _SPACE * size
        down -= _LINE * size
