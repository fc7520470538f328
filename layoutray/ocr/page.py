"""The words of one page: from a PDF's text layer when it is usable, else by OCR."""

import json
from dataclasses import dataclass

from layoutray import config
from layoutray.document import Page, Provenance, Word
from layoutray.ocr import engines, pdf, pdf_text
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
    """

    number: int
    width: int
    height: int
    words: tuple[Word, ...]
    provenance: Provenance

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
        usable, reason = pdf_text.has_usable_text(layer, settings)
        if not usable:
            return _by_ocr(pdf.render(page, settings), number, reason, settings)
        width, height = pdf.pixel_size(page, settings)
        return RecognisedPage(
            number=number,
            width=width,
            height=height,
            words=layer.words,
            provenance=Provenance(words="text_layer", reason=reason),
        )


def _by_ocr(rendered: Rendered, number: int, reason: str, settings: Recognition) -> RecognisedPage:
    engine = engines.load(settings.engine)
    reading = read_upright(rendered.image, engine, settings)
    if reading.degrees:
        reason = f"{reason}; read after a turn of {reading.degrees} degrees clockwise"
    own_settings = json.dumps(config.to_dict(settings), sort_keys=True, separators=(",", ":"))
    provenance = Provenance(
        words="ocr", reason=reason, engine=engine.name, version=engine.version(settings.settings), settings=own_settings
    )
    return RecognisedPage(
        number=number, width=rendered.width, height=rendered.height, words=reading.words, provenance=provenance
    )
