"""Render one page of a file. The file type is determined from its bytes, not its name."""

from enum import StrEnum

from layoutray.errors import DocumentError, Reason
from layoutray.ocr import pdf, pictures
from layoutray.ocr.pictures import Rendered
from layoutray.ocr.settings import Recognition


class Kind(StrEnum):
    """Supported file types."""

    PNG = "PNG"
    JPEG = "JPEG"
    TIFF = "TIFF"
    PDF = "PDF"


_ALLOWED = "allowed: PNG, JPEG, TIFF (also with several pages) and PDF"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", Kind.PNG),
    (b"\xff\xd8\xff", Kind.JPEG),
    (b"II*\0", Kind.TIFF),
    (b"MM\0*", Kind.TIFF),
    (b"II+\0", Kind.TIFF),  # BigTIFF
    (b"MM\0+", Kind.TIFF),
)
_REFUSED_MAGIC = (
    (b"BM", "a BMP picture"),
    (b"GIF8", "a GIF picture"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\xd0\xcf\x11\xe0", "an older Office document"),
)
_PDF_HEADER_WITHIN = 1024  # bytes; PDF readers accept other bytes before the header up to here

_CONTAINERS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""Beginnings of files that can have a whole PDF file within, and others beside it."""
_REFUSED_BRANDS = {b"avif": "an AVIF picture"} | dict.fromkeys((b"heic", b"heix", b"mif1"), "a HEIC picture")
"""Of pictures that phones take."""


def sniff(data: bytes) -> Kind:
    """The type of a file, from its first bytes. Raises DocumentError (empty_file, unsupported_type; stage `open`)."""
    if not data:
        raise DocumentError(Reason.EMPTY_FILE, f"the file has 0 bytes; {_ALLOWED}", stage="open")
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if b"%PDF-" in data[:_PDF_HEADER_WITHIN] and not data.startswith(_CONTAINERS):
        return Kind.PDF
    described = next((name for magic, name in _REFUSED_MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        described = "a WebP picture"
    if data[4:8] == b"ftyp":
        described = _REFUSED_BRANDS.get(data[8:12], "")
    described = described or f"of an unknown type (first bytes: {data[:8]!r})"
    raise DocumentError(Reason.UNSUPPORTED_TYPE, f"the file is {described}; {_ALLOWED}", stage="open")


def count_pages(data: bytes, settings: Recognition) -> int:
    """Number of pages of a file.

    Raises:
        DocumentError: (empty_file, unsupported_type, unreadable, encrypted, too_large; stage `open`).
    """
    kind = sniff(data)
    if kind is Kind.PDF:
        with pdf.opened(data, settings) as document:
            return len(document)
    return pictures.count_pages(data, kind, settings)


def render_page(data: bytes, number: int, settings: Recognition) -> Rendered:
    """The picture of page `number` (from 1): upright, 8 bits, grey or RGB; PDF pages at `settings.dpi`.

    Raises:
        DocumentError: (as `count_pages`; also not_found when the file has no such page; stages `open` and `render`).
    """
    kind = sniff(data)
    if kind is Kind.PDF:
        with pdf.opened(data, settings) as document, pdf.opened_page(document, number) as page:
            return pdf.render(page, settings)
    return pictures.decode(data, kind, number, settings)


def page_picture(data: bytes, number: int, settings: Recognition) -> Rendered:
    """The picture of page `number` of a document, in one of its files.

    Data sets contain single pages of longer documents: such a file has one page, but the page number can be larger.

    Raises:
        DocumentError: as `render_page`.
    """
    return render_page(data, number if count_pages(data, settings) > 1 else 1, settings)
