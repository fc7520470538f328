"""Open PDF files and render their pages with pypdfium2. Not thread-safe: use one thread per process."""

import math
from collections.abc import Generator
from contextlib import closing, contextmanager

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.errors import DocumentError, Reason
from layoutray.ocr.pictures import Rendered, check_size, no_such_page
from layoutray.ocr.settings import Recognition

_POINTS_PER_INCH = 72


@contextmanager
def opened(data: bytes, settings: Recognition) -> Generator[pdfium.PdfDocument]:
    """The document, with its form fields initialised for rendering.

    Raises:
        DocumentError: (unreadable, encrypted, too_large; stage `open`).
    """
    try:
        document = pdfium.PdfDocument(data)
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


@contextmanager
def opened_page(document: pdfium.PdfDocument, number: int) -> Generator[pdfium.PdfPage]:
    """Page `number` (from 1), with form fields and annotations merged into its content.

    Raises:
        DocumentError: (not_found, unreadable; stage `render`).
    """
    if not 1 <= number <= len(document):
        raise no_such_page(number)
    try:
        if document.formenv is not None:
            # Values of form fields are stored apart from the page's content; flatten() merges them.
            with closing(document[number - 1]) as page:
                page.flatten()
        page = document[number - 1]
    except pdfium.PdfiumError as error:
        raise DocumentError(
            Reason.UNREADABLE, f"page {number} of the PDF file is damaged: {error}", stage="render"
        ) from error
    with closing(page):
        yield page


def pixel_size(page: pdfium.PdfPage, settings: Recognition) -> tuple[int, int]:
    """Width and height in pixels of a page rendered at `settings.dpi`; at least 1."""
    scale = settings.dpi / _POINTS_PER_INCH
    width, height = (max(math.ceil(side * scale), 1) for side in page.get_size())
    return width, height


def render(page: pdfium.PdfPage, settings: Recognition) -> Rendered:
    """The rendered page, RGB. Raises DocumentError (too_large, unreadable; stage `render`)."""
    width, height = pixel_size(page, settings)
    check_size(width, height, settings)
    try:
        scale = settings.dpi / _POINTS_PER_INCH
        bitmap = page.render(scale=scale, rev_byteorder=True)  # pyright: ignore[reportArgumentType]  # stub says int
    except (pdfium.PdfiumError, ValueError) as error:
        raise DocumentError(
            Reason.UNREADABLE, f"the PDF page of {width} x {height} pixels cannot be rendered: {error}", stage="render"
        ) from error
    image = np.array(bitmap.to_numpy(), dtype=np.uint8)
    bitmap.close()
    return Rendered(image, image.shape[1], image.shape[0])
