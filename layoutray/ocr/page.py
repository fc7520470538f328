"""The words of one page: from a PDF's text layer when it is usable, else by OCR, as in pictures beside the text."""

import importlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.page import FormField
from layoutray.errors import MissingDependencyError
from layoutray.ocr import beside, engines, form_fields, pdf, pdf_text
from layoutray.ocr.pdf import PdfPage
from layoutray.ocr.pdf_text import TextLayer
from layoutray.ocr.pictures import Rendered
from layoutray.ocr.render import Kind, render_page, sniff
from layoutray.ocr.settings import Recognition
from layoutray.ocr.turn import read_upright


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedPage:
    """A page with its words.

    Attributes:
        number: page number, from 1.
        width, height: size of the upright page in pixels; a PDF page at `dpi`.
        words: boxes are relative to the page; empty for a blank page.
        form_fields: of a fillable PDF file.
    """

    number: int
    width: int
    height: int
    words: tuple[Word, ...]
    provenance: Provenance
    form_fields: tuple[FormField, ...] = ()

    def of_document(self, doc_id: str, source: str, image: str = "", split: str = "") -> Page:
        """The page of a document; see `Page`."""
        return Page(
            doc_id=doc_id,
            number=self.number,
            width=self.width,
            height=self.height,
            words=self.words,
            source=source,
            image=image,
            split=split,
            provenance=self.provenance,
            form_fields=self.form_fields,
        )


def recognise_page(data: bytes, number: int, settings: Recognition) -> RecognisedPage:
    """Read page `number` (from 1) of the file `data`, in this process.

    Raises:
        DocumentError: when the file or page cannot be used, with the reason.
        MissingDependencyError: when the engine is not installed.
    """
    if sniff(data) is not Kind.PDF:
        return _by_ocr(render_page(data, number, settings), number, "a picture has no text layer", settings)
    with pdf.opened(data, settings) as document, pdf.opened_page(document, number) as page:
        layer = pdf_text.read(page)
        fields, told = form_fields.read(document, page, layer.words)
        read = _of_pdf(page, layer, number, settings)
    provenance = replace(read.provenance, reason=f"{read.provenance.reason}{told}")
    return replace(read, provenance=provenance, form_fields=fields)


def _of_pdf(page: PdfPage, layer: TextLayer, number: int, settings: Recognition) -> RecognisedPage:
    usable, reason = pdf_text.has_usable_text(layer, settings)
    if not usable:
        return _by_ocr(pdf.render(page, settings), number, reason, settings)
    width, height = pdf.pixel_size(page, settings)
    provenance = Provenance(words="text_layer", reason=reason)
    read = RecognisedPage(number=number, width=width, height=height, words=layer.words, provenance=provenance)
    areas = beside.unread(layer.pictures, layer.words, page.size)
    if layer.ink and areas:
        areas = list(itertools.compress(areas, layer.ink.under(areas)))
    if areas:
        read = _with_pictures(page, read, areas, settings)
    return _with_marks(read, pdf.render(page, settings)) if settings.marks == "detect" else read


def _with_marks(read: RecognisedPage, drawn: Rendered) -> RecognisedPage:
    try:  # loaded by name as engines are, as pages without marks do without OpenCV
        marks, signatures = (importlib.import_module(f"layoutray.ocr.{name}") for name in ("marks", "signatures"))
    except ModuleNotFoundError as error:
        raise MissingDependencyError.of_extra("recognition.marks = 'detect'", "ocr", error) from error
    found = marks.find(drawn.image, read.words)
    words = marks.among(read.words, found)
    signed = signatures.find(drawn.image, words)
    told = f"{read.provenance.reason}; {len(found)} marks, {len(signed)} signatures"
    return replace(read, words=(*words, *signed), provenance=replace(read.provenance, reason=told))


def _with_pictures(page: PdfPage, layer: RecognisedPage, areas: Sequence[Box], settings: Recognition) -> RecognisedPage:
    """The page of a text layer, with the words that OCR reads in the areas of pictures."""
    engine = engines.load(settings.engine)
    told = f"{layer.provenance.reason}; {len(areas)} {'pictures' if len(areas) > 1 else 'picture'} beside it"
    try:
        version = engine.version(settings.settings)
    except (ImportError, MissingDependencyError):  # pages with a text layer need no engine
        return replace(
            layer, provenance=replace(layer.provenance, reason=f"{told}: not read, as no engine is installed")
        )
    # A large page that is born digital is read, too; its pictures are drawn as large as is allowed.
    dpi = int(settings.dpi * min(1.0, math.sqrt(settings.max_pixels / (layer.width * layer.height)) * 0.99))
    drawn = pdf.render(page, replace(settings, dpi=max(dpi, 1)))
    found = beside.read(drawn, areas, layer.words, engine, settings)
    provenance = replace(layer.provenance, reason=f"{told}: {len(found)} words by OCR")
    if found:
        provenance = replace(provenance, engine=engine.name, version=version, settings=settings.as_json())
    return replace(layer, words=tuple(pdf_text.with_blocks(beside.merged(layer.words, found))), provenance=provenance)


def _by_ocr(rendered: Rendered, number: int, reason: str, settings: Recognition) -> RecognisedPage:
    engine = engines.load(settings.engine)
    reading = read_upright(rendered.image, engine, settings)
    if reading.degrees:
        reason = f"{reason}; read after a turn of {reading.degrees} degrees clockwise"
    version = engine.version(settings.settings)
    provenance = Provenance(
        words="ocr", reason=reason, engine=engine.name, version=version, settings=settings.as_json()
    )
    read = RecognisedPage(
        number=number, width=rendered.width, height=rendered.height, words=reading.words, provenance=provenance
    )
    return _with_marks(read, rendered) if settings.marks == "detect" else read
