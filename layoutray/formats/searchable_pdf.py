"""Export to searchable PDF: the document's own pictures or PDF pages, with the words laid over them as invisible text.

A PDF file is kept as it is. Words are written on its pages without a usable text layer; invisible text that such a page
already has, from OCR of unknown quality, is removed, because every search would find it twice. A picture becomes a page
of its physical size. JPEG pictures are embedded byte for byte, others without loss in 8 bits.
"""

import io
import math
from collections.abc import Sequence
from contextlib import closing

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import Image

from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.formats.invisible_text import InvisibleText, matrix_of, page_point
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.render import Kind, count_pages, render_page, sniff
from layoutray.ocr.settings import Recognition
from layoutray.store import sources

_POINTS = 72  # per inch
_SCANS = 100, 1200
"""Resolutions of scans, in dpi; many files state 72 without reason. A fax has half the resolution in one direction."""
_ORIENTATION = 0x0112
_CORNERS = {
    1: ((0, 1), (1, 1), (0, 0)),
    2: ((1, 1), (0, 1), (1, 0)),
    3: ((1, 0), (0, 0), (1, 1)),
    4: ((0, 0), (1, 0), (0, 1)),
    5: ((1, 0), (1, 1), (0, 0)),
    6: ((0, 0), (0, 1), (1, 0)),
    7: ((0, 1), (0, 0), (1, 1)),
    8: ((1, 1), (1, 0), (0, 1)),
}
"""By EXIF orientation: where the stored picture's bottom left, bottom right and top left corners are shown; shares of
the shown picture, from its top left."""


def searchable_pdf(pages: Sequence[Page]) -> bytes:
    """The searchable PDF of one document.

    Args:
        pages: at least one, of one PDF file or of one or several picture files. All pages of a PDF file are kept, and
            the pictures of a TIFF file that `pages` names.

    Raises:
        DocumentError: when the picture file or PDF file cannot be read.
    """
    image = pages[0].image
    data = sources.read_bytes(image)
    try:
        if sniff(data) is Kind.PDF:
            return _with_text_on_scans(data, pages)
        with pdfium.PdfDocument.new() as document:
            count = count_pages(data, Recognition())
            with InvisibleText(document, pages) as text:
                for page in pages:
                    if page.image != image:
                        image, data = page.image, sources.read_bytes(page.image)
                        count = count_pages(data, Recognition())
                    with closing(_add_picture(document, data, _number(page, count))) as shown:
                        text.write(page, shown)
            return _saved(document)
    except pdfium.PdfiumError as error:
        raise DocumentError(Reason.UNREADABLE, f"PDFium cannot write on {image}: {error}", stage="render") from error


def _with_text_on_scans(data: bytes, pages: Sequence[Page]) -> bytes:
    """The PDF file `data` with words on the pages without a usable text layer; unchanged if there is no such page."""
    with pdf.opened(data, Recognition()) as document:
        scans: list[Page] = []
        for page in pages:
            with pdf.opened_page(document, _number(page, len(document))) as shown:
                if not pdf_text.has_usable_text(pdf_text.read(shown), Recognition())[0]:
                    scans.append(page)
        if not scans:
            return data
        with InvisibleText(document, scans) as text:
            for page in scans:
                with closing(_shown(document, page)) as shown:
                    _remove_invisible_text(shown)
                    text.write(page, shown)
        return _saved(document)


def _shown(document: pdfium.PdfDocument, page: Page) -> pdfium.PdfPage:
    return document[_number(page, len(document)) - 1]


def _remove_invisible_text(page: pdfium.PdfPage) -> None:
    """Remove what OCR programs write: invisible text on the page, and forms that hold nothing else."""
    for item in list(page.get_objects(max_depth=1)):
        is_form = pdfium_c.FPDFPageObj_GetType(item) == pdfium_c.FPDF_PAGEOBJ_FORM
        parts = list(page.get_objects(form=item, level=1)) if is_form else [item]
        modes = {pdfium_c.FPDFTextObj_GetTextRenderMode(part) for part in parts}
        if modes == {pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE}:
            page.remove_obj(item)
            item.close()


def _number(page: Page, count: int) -> int:
    """Number of a page in its file of `count` pages; data sets contain single pages of longer documents."""
    return page.number if count > 1 else 1


def _add_picture(document: pdfium.PdfDocument, data: bytes, number: int) -> pdfium.PdfPage:
    """A new page that shows picture `number` of a file at the resolution that the file states, if it is that of a scan.

    Raises:
        DocumentError: when the picture cannot be decoded.
    """
    shown = render_page(data, number, Recognition())
    with Image.open(io.BytesIO(data)) as stored:
        stored.seek(number - 1)
        across, down = map(float, stored.info.get("dpi", (0, 0)))
        low, high = _SCANS
        if not (low <= max(across, down) <= high and 2 * min(across, down) >= low):
            across = down = Recognition().dpi
        size = shown.width * _POINTS / across, shown.height * _POINTS / down
        # Cut to a thousandth of a point, so that rounding up to pixels gives the picture's own size.
        page = document.new_page(*(math.floor(side * 1000) / 1000 for side in size))
        item = pdfium.PdfImage.new(document)
        if sniff(data) is Kind.JPEG and stored.mode in ("L", "RGB"):
            item.load_jpeg(io.BytesIO(data), inline=True)
            corners = _CORNERS.get(stored.getexif().get(_ORIENTATION, 1), _CORNERS[1])
        else:
            item.set_bitmap(pdfium.PdfBitmap.from_pil(Image.fromarray(shown.image)))
            corners = _CORNERS[1]
    pdfium_c.FPDFPageObj_SetMatrix(item, matrix_of(*(page_point(page, *corner) for corner in corners)))
    page.insert_obj(item)
    return page


def _saved(document: pdfium.PdfDocument) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()
