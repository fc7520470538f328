"""Open PDF files and render their pages with pypdfium2. Not thread-safe: use one thread per process.

PDFium ignores the entry UserUnit of a page, by which its unit is more than 1/72 inch.
"""

import ctypes
import functools
import io
import math
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import ArrayLike, NDArray

from layoutray.errors import DocumentError, Reason
from layoutray.ocr import free_text
from layoutray.ocr.free_text import FreeText
from layoutray.ocr.pictures import Rendered, check_size, no_such_page
from layoutray.ocr.settings import Recognition

_POINTS_PER_INCH = 72
_RESOLUTION = 1_000_000  # PDFium maps to integers; a millionth of a page is finer than any pixel
_DIGITS = 6  # of a box; PDFium's coordinates are not more exact
MOST_FIELDS = 5000
"""Annotations of a page whose form fields are read."""
NOT_SHOWN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_DRAWN_BY_VIEWERS = (pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_FREETEXT)
_WITHOUT_TEXT = (pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP)
_OBJECT_STREAM = re.compile(rb"/ObjStm\b[^>]*>>\s*stream\r?\n")
_MOST_OBJECTS = 1 << 24  # bytes of an object stream
_USER_UNIT = re.compile(rb"/Type\s*/Page\s*/UserUnit\s+(\d*\.?\d+)")

Sides = tuple[float, float, float, float]
"""Left, bottom, right and top in PDF coordinates."""
ToPageSides = Callable[[ArrayLike], NDArray[np.float64]]
"""Maps sides (n, 4) in PDF coordinates to those of boxes (n, 4) relative to the shown page; NaN outside the page."""


class PdfFile(pdfium.PdfDocument):
    """A document, and whether it may have layers, or a page of it may state its unit."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.has_units, self.has_layers = _mentions(data)

    def get_page(self, index: int) -> pdfium.PdfPage:
        """As `PdfDocument`, but a page with very many annotations is no part of the form: that takes quadratic time."""
        if self.formenv and (raw := pdfium_c.FPDF_LoadPage(self, index)):
            if pdfium_c.FPDFPage_GetAnnotCount(raw) > MOST_FIELDS:
                page = pdfium.PdfPage(raw, self, None)
                self._add_kid(page)
                return page
            pdfium_c.FPDF_ClosePage(raw)
        return super().get_page(index)


@contextmanager
def opened(data: bytes, settings: Recognition) -> Generator[PdfFile]:
    """The document, ready to be rendered. Raises DocumentError (unreadable, encrypted, too_large; stage `open`)."""
    try:
        document = PdfFile(data)
    except pdfium.PdfiumError as error:
        if error.err_code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY):
            message = "the PDF file needs a password; remove the protection first"
            raise DocumentError(Reason.ENCRYPTED, message, stage="open") from error
        message = f"the PDF file is damaged or truncated: {error}"
        raise DocumentError(Reason.UNREADABLE, message, stage="open") from error
    with document:
        if len(document) < 1:
            raise DocumentError(Reason.UNREADABLE, "the PDF file has no pages", stage="open")
        if len(document) > settings.max_pages:
            raise DocumentError(
                Reason.TOO_LARGE,
                f"the PDF file has {len(document)} pages; at most {settings.max_pages} are allowed; "
                "split it or raise max_pages",
                stage="open",
            )
        document.init_forms()
        yield document


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPage:
    """A page, as it is drawn and as it is read.

    Attributes:
        shown: the page of the document. PDFium draws its annotations and fields, and respects layers.
        merged: the page that has the text; where there are annotations, a copy in which they are part of the content.
        fields: bounds of the form fields and text annotations in PDF coordinates: left, bottom, right, top. PDFium
            draws no field that belongs to no form, and no text without an appearance, so their pixels are those of
            `merged`.
        unit: length of a unit of the page in points of 1/72 inch.
        has_layers: some of the content may be on a layer, which may be switched off.
    """

    shown: pdfium.PdfPage
    merged: pdfium.PdfPage
    fields: tuple[Sides, ...] = ()
    unit: float = 1.0
    has_layers: bool = False

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the cropped and rotated page in points of 1/72 inch."""
        width, height = self.shown.get_size()
        return width * self.unit, height * self.unit

    def draw(self, dpi: float, **options: Any) -> NDArray[np.uint8]:
        """The pixels at `dpi`, (height, width, 3) or, with `grayscale=True`, (height, width).

        Raises:
            PdfiumError, ValueError: when the page cannot be drawn.
        """
        dpi *= self.unit
        image = _pixels(self.shown, dpi, options)
        if self.fields:
            height, width = image.shape[:2]
            merged = _pixels(self.merged, dpi, options)
            sides = box_mapping(self.shown)(self.fields)
            for x0, y0, x1, y1 in (sides[sides[:, 0] >= 0] * (width, height, width, height)).round().astype(int):
                image[y0:y1, x0:x1] = merged[y0:y1, x0:x1]
        return image


def box_mapping(page: pdfium.PdfPage) -> ToPageSides:
    """The mapping from PDF coordinates to the cropped and rotated page."""
    width, height = page.get_size()
    (x, y), across, up = (_shown_at(page, *point) for point in ((0.0, 0.0), (width, 0.0), (0.0, height)))
    xa, ya = (across[0] - x) / width, (across[1] - y) / width
    xb, yb = (up[0] - x) / height, (up[1] - y) / height

    def to_page_sides(sides: ArrayLike) -> NDArray[np.float64]:
        left, bottom, right, top = np.asarray(sides, dtype=np.float64).reshape(-1, 4).T
        xs = x + xa * left + xb * bottom, x + xa * right + xb * top
        ys = y + ya * left + yb * bottom, y + ya * right + yb * top
        found = np.array([np.minimum(*xs), np.minimum(*ys), np.maximum(*xs), np.maximum(*ys)]).round(_DIGITS)
        x0, y0, x1, y1 = found
        shown = (x1 > 0) & (x0 < 1) & (y1 > 0) & (y0 < 1) & ((x0 < x1) | (y0 < y1))
        return np.where(shown, found.clip(0, 1), np.nan).T

    return to_page_sides


@contextmanager
def opened_page(document: PdfFile, number: int) -> Generator[PdfPage]:
    """Page `number` (from 1), also with the annotations and form fields that a viewer shows merged into its content.

    Raises:
        DocumentError: (not_found, unreadable; stage `render`).
    """
    if not 1 <= number <= len(document):
        raise no_such_page(number)
    try:
        with ExitStack() as resources:
            page = resources.enter_context(closing(document[number - 1]))
            unit = _user_unit(document, number) if document.has_units else 1.0
            fields = _shown_fields(page)
            if fields is None:
                yield PdfPage(shown=page, merged=page, unit=unit, has_layers=document.has_layers)
            else:
                merged = resources.enter_context(_merged(document, number))
                yield PdfPage(shown=page, merged=merged, fields=fields, unit=unit, has_layers=document.has_layers)
    except pdfium.PdfiumError as error:
        raise DocumentError(
            Reason.UNREADABLE, f"page {number} of the PDF file is damaged: {error}", stage="render"
        ) from error


def pixel_size(page: PdfPage, settings: Recognition) -> tuple[int, int]:
    """Width and height in pixels of a page rendered at `settings.dpi`; at least 1."""
    scale = settings.dpi / _POINTS_PER_INCH
    width, height = (max(math.ceil(side * scale), 1) for side in page.size)
    return width, height


def render(page: PdfPage, settings: Recognition) -> Rendered:
    """The rendered page, RGB. Raises DocumentError (too_large, unreadable; stage `render`)."""
    width, height = pixel_size(page, settings)
    check_size(width, height, settings)
    try:
        image = page.draw(settings.dpi, rev_byteorder=True)
    except (pdfium.PdfiumError, ValueError) as error:
        raise DocumentError(
            Reason.UNREADABLE, f"the PDF page of {width} x {height} pixels cannot be rendered: {error}", stage="render"
        ) from error
    return Rendered(image, image.shape[1], image.shape[0])


def _pixels(page: pdfium.PdfPage, dpi: float, options: dict[str, Any]) -> NDArray[np.uint8]:
    bitmap = page.render(scale=dpi / _POINTS_PER_INCH, **options)  # pyright: ignore[reportArgumentType]  # stub: int
    image = np.array(bitmap.to_numpy(), dtype=np.uint8)
    bitmap.close()
    return image


def _shown_at(page: pdfium.PdfPage, across: float, up: float) -> tuple[float, float]:
    """A point in PDF coordinates, relative to the cropped and rotated page."""
    x, y = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page, 0, 0, _RESOLUTION, _RESOLUTION, 0, across, up, x, y)
    return x.value / _RESOLUTION, y.value / _RESOLUTION


def _shown_fields(page: pdfium.PdfPage) -> tuple[Sides, ...] | None:
    """Bounds of the fields and texts that a viewer shows; None if the page has no annotation that can show text."""
    found = [sides for kind, shown, sides in _annotations(page) if shown and kind in _DRAWN_BY_VIEWERS]
    shows_text = any(shown and kind not in _WITHOUT_TEXT for kind, shown, _ in _annotations(page))
    return tuple(found) if shows_text else None


def _annotations(page: pdfium.PdfPage) -> Iterator[tuple[int, bool, Sides]]:
    """Subtype, whether a viewer shows it, and bounds of each annotation."""
    rectangle = pdfium_c.FS_RECTF()
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
        shown = not pdfium_c.FPDFAnnot_GetFlags(annotation) & NOT_SHOWN
        pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
        pdfium_c.FPDFPage_CloseAnnot(annotation)
        yield kind, shown, (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)


@functools.lru_cache(maxsize=1)
def _mentions(data: bytes) -> tuple[bool, bool]:
    """Whether the file, or one of its object streams, has the entries UserUnit and OCProperties.

    Both for a file with object streams that are encrypted. The pages of a file are read one after the other, so the
    answer for the latest file is kept.
    """
    unit, layers = b"/UserUnit" in data, b"/OCProperties" in data
    for stream in _OBJECT_STREAM.finditer(data):
        packed = memoryview(data)[stream.end() : data.find(b"endstream", stream.end())]
        try:
            objects = zlib.decompressobj().decompress(packed, _MOST_OBJECTS)
        except zlib.error:
            return True, True
        unit, layers = unit or b"/UserUnit" in objects, layers or b"/OCProperties" in objects
    return unit, layers


def _user_unit(document: PdfFile, number: int) -> float:
    """The entry UserUnit of page `number`; 1 without it. PDFium copies and writes it, but has no function for it."""
    written = io.BytesIO()
    with pdfium.PdfDocument.new() as copy:
        copy.import_pages(document, [number - 1])
        copy.save(written)
    stated = _USER_UNIT.search(written.getvalue())
    return (stated and float(stated[1])) or 1.0


@contextmanager
def _merged(document: pdfium.PdfDocument, number: int) -> Generator[pdfium.PdfPage]:
    """A copy of page `number` whose annotations are part of its content.

    PDFium would replace resources, boxes and rotation that a page inherits. A page that it copies has them itself.
    """
    with pdfium.PdfDocument.new() as copy:
        copy.import_pages(document, [number - 1])
        texts = list[FreeText]()
        with closing(copy[0]) as page:
            shown = [shown for _, shown, _ in _annotations(page)]
            for index in reversed(range(len(shown))):
                if not shown[index]:
                    pdfium_c.FPDFPage_RemoveAnnot(page, index)
                    continue
                annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
                if text := free_text.of(annotation):
                    texts.append(text)
                pdfium_c.FPDFPage_CloseAnnot(annotation)
            pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY)
        with closing(copy[0]) as page:
            for text in reversed(texts):
                free_text.write(text, copy, page)
            yield page
