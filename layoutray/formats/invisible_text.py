"""Invisible words on PDF pages, for selection and search (PDF's text rendering mode 3).

Their font is a TrueType font without ink: one glyph for all characters, and one for the space. PDF programs select and
find text by the metrics of its font. At font size 1, a character is exactly 1 wide and high.
"""

import ctypes
import functools
import io
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Self

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from layoutray.document import Box, Page

_RESOLUTION = 1_000_000  # PDFium maps from integers; a millionth of a page is finer than any pixel
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_KEEPS_ORDER = frozenset({"L", "EN", "ES", "ET", "AN", "CS"})
"""Unicode's bidirectional classes of letters, numbers and signs that run from left to right in any text."""
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_CHARACTER, _SPACE = 1, 2
"""Numbers of the glyphs. The space has no width: it separates words without lying on the next one."""
_EM = 1000
_GLYPHS = {".notdef": _EM, "character": _EM, "space": 0}
_TOP = 985  # PDFium adds a 64th to the top of a glyph's box
_DESCENT = -2  # Poppler takes 0 for a missing value, and PDFium rounds up
_ROWS = 100  # most entries of one section of a character map


Point = tuple[float, float]
"""A point in PDF coordinates."""


class InvisibleText:
    """Writes the words of `pages` on those of a PDF document. A context manager: it holds a font of PDFium."""

    def __init__(self, document: pdfium.PdfDocument, pages: Iterable[Page]) -> None:
        self._document = document
        texts = (visual_order(word.text) for page in pages for word in page.words)
        characters = dict.fromkeys(character for text in texts for character in text if character != " ")
        self._codes = {character: code for code, character in enumerate([" ", *characters], start=1)}
        self._font = self._load_font()

    def _load_font(self) -> Any:
        glyphs = b"".join(code.to_bytes(2, "big") for code in (0, _SPACE, *[_CHARACTER] * (len(self._codes) - 1)))
        font, glyph_numbers = _array(ctypes.c_ubyte, _font()), _array(ctypes.c_ubyte, glyphs)
        loaded = pdfium_c.FPDFText_LoadCidType2Font(
            self._document, font, len(font), _to_unicode(self._codes), glyph_numbers, len(glyph_numbers)
        )
        if not loaded:
            raise pdfium.PdfiumError("PDFium cannot load the font")
        return loaded

    def write(self, page: Page, on: pdfium.PdfPage) -> None:
        for word in page.words:
            if word.text.strip():
                self._write_word(on, visual_order(word.text), _at_least_half_a_pixel(word.box, page))
        on.gen_content()

    def _write_word(self, page: pdfium.PdfPage, text: str, box: Box) -> None:
        item = pdfium_c.FPDFPageObj_CreateTextObj(self._document, self._font, 1.0)
        codes = _array(ctypes.c_uint32, [self._codes[character] for character in f"{text} "])
        if not pdfium_c.FPDFText_SetCharcodes(item, codes, len(codes)):
            raise pdfium.PdfiumError("PDFium cannot write a word")
        pdfium_c.FPDFTextObj_SetTextRenderMode(item, pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE)
        origin, right, up = (page_point(page, *at) for at in ((box.x0, box.y1), (box.x1, box.y1), (box.x0, box.y0)))
        matrix = matrix_of(origin, right, up)
        matrix.a, matrix.b = matrix.a / len(text), matrix.b / len(text)
        pdfium_c.FPDFPageObj_SetMatrix(item, matrix)
        pdfium_c.FPDFPage_InsertObject(page, item)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        pdfium_c.FPDFFont_Close(self._font)


@functools.cache
def _font() -> bytes:
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(list(_GLYPHS))
    builder.setupCharacterMap({ord(" "): "space"})
    empty, diagonal = TTGlyphPen(None).glyph(), TTGlyphPen(None)
    # A closed path of two points has a box but no area, so even a program that would paint it paints nothing.
    diagonal.moveTo((0, 0))
    diagonal.lineTo((_EM, _TOP))
    diagonal.closePath()
    builder.setupGlyf({name: diagonal.glyph() if name == "character" else empty for name in _GLYPHS})
    builder.setupHorizontalMetrics({name: (width, 0) for name, width in _GLYPHS.items()})
    builder.setupHorizontalHeader(ascent=_EM, descent=_DESCENT)
    builder.setupNameTable({"familyName": "Invisible", "styleName": "Regular", "psName": "Invisible"})
    builder.setupOS2(sTypoAscender=_EM, sTypoDescender=_DESCENT, usWinAscent=_EM, usWinDescent=-_DESCENT)
    builder.setupPost()
    stream = io.BytesIO()
    builder.save(stream)
    return stream.getvalue()


def matrix_of(origin: Point, right: Point, up: Point) -> pdfium_c.FS_MATRIX:
    """The matrix that maps (0, 0) to `origin`, (1, 0) to `right` and (0, 1) to `up`."""
    (x, y), (x1, y1), (x2, y2) = origin, right, up
    return pdfium_c.FS_MATRIX(x1 - x, y1 - y, x2 - x, y2 - y, x, y)


def page_point(page: pdfium.PdfPage, across: float, down: float) -> Point:
    """PDF coordinates of a point of the page as it is shown (cropped and rotated); shares of it, from the top left."""
    x, y = ctypes.c_double(), ctypes.c_double()
    at = round(across * _RESOLUTION), round(down * _RESOLUTION)
    pdfium_c.FPDF_DeviceToPage(page, 0, 0, _RESOLUTION, _RESOLUTION, 0, *at, x, y)
    return x.value, y.value


def visual_order(text: str) -> str:
    """The characters of a word from left to right, as a page shows them.

    PDF programs expect text in this order, and turn text that runs from right to left around when they read it.
    """
    classes = [unicodedata.bidirectional(character) for character in text]
    strong = [kind for kind in classes if kind == "L" or kind in _RIGHT_TO_LEFT]
    if not _RIGHT_TO_LEFT.intersection(strong):
        return text
    runs: list[str] = []
    for keeps_order, run in groupby(zip(text, classes, strict=True), key=lambda pair: pair[1] in _KEEPS_ORDER):
        part = "".join(character for character, _ in run)
        runs.append(part if keeps_order else part[::-1].translate(_MIRRORED))
    return "".join(runs if strong[0] == "L" else reversed(runs))


def _at_least_half_a_pixel(box: Box, page: Page) -> Box:
    """The box, extended to half a pixel where it has no width or height: PDFium drops such text."""
    width, height = 0.5 / page.width, 0.5 / page.height
    x0, y0 = min(box.x0, 1 - width), min(box.y0, 1 - height)
    return Box(x0, y0, min(max(box.x1, x0 + width), 1.0), min(max(box.y1, y0 + height), 1.0))


def _to_unicode(codes: dict[str, int]) -> bytes:
    """The map from character codes to Unicode, as a PDF stream (a CMap)."""
    rows = [f"<{code:04x}> <{character.encode('utf-16-be').hex()}>" for character, code in codes.items()]
    sections = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    parts = [
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def",
        "1 begincodespacerange <0000> <ffff> endcodespacerange",
        *(f"{len(section)} beginbfchar\n{chr(10).join(section)}\nendbfchar" for section in sections),
        "endcmap end end",
    ]
    return "\n".join(parts).encode()


def _array(kind: type[ctypes.c_ubyte] | type[ctypes.c_uint32], values: Sequence[int]) -> ctypes.Array[Any]:
    return (kind * len(values))(*values)
