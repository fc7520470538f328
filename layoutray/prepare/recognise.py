"""From a document's files to PAGES, one page at a time; what fails becomes a dead letter and nothing else is lost.

A LANE is one way to get at words: `OcrLane` looks at the picture, `AnnotationLane` takes the words that a data set ships.
Both run in whatever process calls them; the native code of OCR runs in a child that may crash or hang without harm.
"""

import time
from dataclasses import replace
from typing import Protocol, Self

from layoutray import readers
from layoutray.document import Page, Word
from layoutray.errors import DocumentError, LayoutrayError, Reason
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.prepare.align import label_by_area, transfer_tags
from layoutray.prepare.page_tasks import OpenedDocument, PageTask
from layoutray.readers import DocumentRef, Reader, Truth
from layoutray.store import sources
from layoutray.store.dead_letter import DeadLetter

ATTEMPTS = 2
"""A page or document whose failure may pass (a time-out, a crash, a store that does not answer) is tried once more on the spot."""
_PAUSE = 1.0
"""Seconds before that, for what was in the way to pass."""


class WordSource(Protocol):
    """A way to get at the words of a page. Holds native state: one thread, one process; enter it before use."""

    stage: str
    """Where an error that says nothing else has happened."""

    def open(self, item: DocumentRef) -> OpenedDocument:
        """The document and its page numbers. Raises DocumentError."""
        ...

    def page(self, unit: PageTask) -> Page:
        """One page with its words. Raises DocumentError."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...


class AnnotationLane:
    """Words as the data set ships them."""

    stage = "annotation"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._latest: tuple[DocumentRef, Truth] | None = None

    def open(self, item: DocumentRef) -> OpenedDocument:
        truth = self.truth(item)
        numbers = (*(page.number for page in truth.pages), *truth.not_annotated)
        if not numbers:
            raise _bad_annotation(f"{item.source} has no words of its own; ingest the set with words = 'ocr'")
        return OpenedDocument(item, truth.document, None, numbers, repairs=truth.repairs, dropped=truth.dropped)

    def page(self, unit: PageTask) -> Page:
        truth = self.truth(unit.item)
        found = [page for page in truth.pages if page.number == unit.page]
        if unit.page in truth.not_annotated:
            message = f"nobody has annotated page {unit.page} of {unit.item.source}, or whoever did has cancelled it"
            raise DocumentError(Reason.NOT_ANNOTATED, message, stage="annotation")
        if not found:
            raise _bad_annotation(f"{unit.item.annotation or unit.item.source} says nothing of page {unit.page}")
        return replace(found[0], doc_id=unit.doc_id, split=unit.item.split)

    def truth(self, item: DocumentRef) -> Truth:
        """What the data set says about a document."""
        # The pages of one document come one after the other: its annotation is read once for all of them.
        if self._latest is None or self._latest[0] != item:
            self._latest = item, self._reader.read(item)
        return self._latest[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._latest = None


class OcrLane:
    """Words as the OCR engine (or a PDF's own text) gives them, with the data set's tags carried over where it has any."""

    stage = "ocr"

    def __init__(self, reader: Reader, recognition: Recognition) -> None:
        self._reader = reader
        self._annotation = AnnotationLane(reader)
        self._recogniser = IsolatedRecogniser(recognition)
        self._latest: tuple[str, str, bytes] | None = None

    def open(self, item: DocumentRef) -> OpenedDocument:
        data = sources.read_bytes(item.image)
        num_pages = self._recogniser.count_pages(data)
        truth = self._annotation.truth(item)
        document = replace(truth.document, num_pages=num_pages)
        return OpenedDocument(
            item, document, None, tuple(range(1, num_pages + 1)), repairs=truth.repairs, dropped=truth.dropped
        )

    def page(self, unit: PageTask) -> Page:
        seen = self._recogniser.recognise(self._file(unit), unit.page)
        words = self._tagged(seen.words, unit) if self._reader.tags else seen.words
        return Page(
            doc_id=unit.doc_id,
            number=unit.page,
            width=seen.width,
            height=seen.height,
            words=words,
            source=unit.item.source,
            image=unit.item.image,
            split=unit.item.split,
            provenance=seen.provenance,
        )

    def _file(self, unit: PageTask) -> bytes:
        # The pages of one document come one after the other: its file is read once for all of them, as the recogniser keeps it anyway.
        if self._latest is None or self._latest[:2] != (unit.doc_id, unit.item.image):
            self._latest = None
            data = sources.read_bytes(unit.item.image)
            if unit.item.image == unit.item.source and sources.content_id(data) != unit.doc_id:
                message = (
                    f"{unit.item.image} has changed since it was opened; run the same ingest again, which opens it anew"
                )
                raise DocumentError(Reason.CHANGED, message, stage="open")
            self._latest = unit.doc_id, unit.item.image, data
        return self._latest[2]

    def _tagged(self, words: tuple[Word, ...], unit: PageTask) -> tuple[Word, ...]:
        truth = self._annotation.truth(unit.item)
        if truth.regions is not None:
            return label_by_area(words, truth.regions)
        # A picture's pages count from 1 even where the data set cut a page out of a longer document: the only one is meant, whatever it is.
        page = (
            truth.pages[0]
            if truth.document.num_pages == len(truth.pages) == unit.page == 1
            else self._annotation.page(unit)
        )
        return transfer_tags(words, page.words).words

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._latest = None
        self._recogniser.close()


def lane(reader: str, words: str, recognition: Recognition) -> WordSource:
    """The lane for `words` (`ocr` or `annotation`) of data set `reader`."""
    found = readers.load(reader)
    return AnnotationLane(found) if words == "annotation" else OcrLane(found, recognition)


def open_item(by: WordSource, item: DocumentRef) -> OpenedDocument:
    """Open a document: its identity, number of pages and truth, or the dead letter that says why it cannot be used."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            annotation = sources.content_id(sources.read_bytes(item.annotation)) if item.annotation else ""
            return replace(by.open(item), annotation=annotation)
        except Exception as error:
            failure = _as_document_error(error, "open")
            if not failure.retryable or attempt == ATTEMPTS:
                return OpenedDocument(item, None, DeadLetter.of(failure, item.source, attempts=attempt))
        time.sleep(_PAUSE)
    raise AssertionError("every attempt returns")


def recognise_unit(by: WordSource, unit: PageTask) -> Page | DeadLetter:
    """Do one page: its words, or the dead letter that says why there are none."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return by.page(unit)
        except Exception as error:
            failure = _as_document_error(error, by.stage)
            if not failure.retryable or attempt == ATTEMPTS:
                return DeadLetter.of(
                    failure,
                    unit.item.source,
                    doc_id=unit.doc_id,
                    page_id=unit.page_id,
                    page=unit.page,
                    attempts=attempt,
                )
        time.sleep(_PAUSE)
    raise AssertionError("every attempt returns")


def _as_document_error(error: Exception, stage: str) -> DocumentError:
    """A failure that concerns this page alone; a missing program or a wrong setting concerns all and is raised again."""
    if isinstance(error, DocumentError):
        return error
    if isinstance(error, LayoutrayError):
        raise error
    failure = DocumentError(Reason.INTERNAL, f"{type(error).__name__}: {error}", stage=stage)
    return failure.with_traceback(error.__traceback__)


def _bad_annotation(message: str) -> DocumentError:
    return DocumentError(Reason.BAD_ANNOTATION, message, stage="annotation")
