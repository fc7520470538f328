"""Words, pages and documents as people think of them."""

from dataclasses import dataclass

from layoutray.document.geometry import Box


@dataclass(frozen=True, slots=True)
class Word:
    """One word as an engine or an annotator saw it.

    Attributes:
        confidence: 0..1 from the engine; None when a person wrote the word.
        line, block: ids within the page, counted from 0 in reading order.
        tag: truth of the word (an IOB2 tag such as `B-total`, or a region label); None when unlabelled.
    """

    text: str
    box: Box
    confidence: float | None = None
    line: int = 0
    block: int = 0
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledArea:
    """An area of a page and what it is (title, table, …), as an annotator drew it."""

    label: str
    box: Box


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a page's words came from.

    Attributes:
        words: `ocr`, `text_layer` (a PDF's own) or `annotation`.
        reason: why that way was chosen, in words.
        engine, version: OCR engine and its version with the hash of its language data; empty without OCR.
        settings: JSON of the engine's and preprocessing settings; empty without OCR.
    """

    words: str
    reason: str
    engine: str = ""
    version: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: the unit of work.

    Attributes:
        doc_id: SHA-256 of the source file's bytes, as hex.
        number: counted from 1 in the source.
        width, height: pixels of the page as it was looked at (after EXIF rotation), which boxes are shares of.
        source: URI of the file that `doc_id` hashes.
        image: URI of the picture (or PDF) that shows this page; empty where there is none.
        split: train, dev or test; empty when not yet decided.
    """

    doc_id: str
    number: int
    width: int
    height: int
    words: tuple[Word, ...]
    source: str
    image: str
    split: str
    provenance: Provenance


SUMMARY = "summary"
"""Name of the fields that hold the summaries of a document; each of several is as good as the others."""


@dataclass(frozen=True, slots=True)
class Field:
    """One wanted value of a document, as its annotator wrote it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document: the unit of truth."""

    doc_id: str
    source: str
    split: str
    num_pages: int
    fields: tuple[Field, ...] = ()
