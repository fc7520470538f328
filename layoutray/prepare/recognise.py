"""From a document's files to its pages. A failure becomes a dead letter and costs no other page.

A word source reads the words of a page: `OcrWordSource` from the picture, `AnnotationWordSource` from the annotation of
the data set. Both run in the calling process; the native code of OCR runs in a child process that may crash or hang.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Self, TypeVar

from layoutray import readers
from layoutray.document import Page, Word
from layoutray.errors import DocumentError, MissingDependencyError, Reason, as_document_error
from layoutray.ocr import engines
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.prepare.align import label_by_area, transfer_tags
from layoutray.prepare.page_tasks import OpenedDocument, PageTask
from layoutray.prepare.read_before import words_of
from layoutray.readers import DocumentRef, Reader, Truth
from layoutray.store import sources
from layoutray.store.dead_letter import DeadLetter

Done = TypeVar("Done")

ATTEMPTS = 2
"""Attempts at a page or document if the failure may be temporary: a time-out, a crash, an unreachable object store."""
_PAUSE = 1.0
"""Seconds between two attempts."""


class WordSource(Protocol):
    """Reads the words of a page. It has native state: use it in one thread of one process, and enter it before use."""

    stage: str
    """Stage of an error that does not name its own."""

    def open(self, reference: DocumentRef) -> OpenedDocument:
        """The document and its page numbers. Raises DocumentError."""
        ...

    def page(self, task: PageTask) -> Page:
        """One page with its words. Raises DocumentError."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...


def check_engine(recognition: Recognition) -> None:
    """Raise MissingDependencyError if the OCR engine is installed, and a language or model of `recognition` is not.

    Pages with a text layer need no engine, so that a missing one is an error of the first page that does.
    """
    try:
        engines.load(recognition.engine).version(recognition.settings)
    except MissingDependencyError as error:
        if not isinstance(error.__cause__, ImportError):
            raise


class AnnotationWordSource:
    """Words from the annotation of the data set."""

    stage = "annotation"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._latest: tuple[DocumentRef, Truth] | None = None

    def open(self, reference: DocumentRef) -> OpenedDocument:
        truth = self.truth(reference)
        numbers = (*(page.number for page in truth.pages), *truth.failures)
        if not numbers:
            raise _bad_annotation(f"{reference.source} has no annotated words; ingest the set with words = 'ocr'")
        return OpenedDocument(
            reference=reference, document=truth.document, pages=numbers, repairs=truth.repairs, dropped=truth.dropped
        )

    def page(self, task: PageTask) -> Page:
        reference, truth = task.reference, self.truth(task.reference)
        if task.page in truth.failures:
            raise truth.failures[task.page]
        page = next((page for page in truth.pages if page.number == task.page), None)
        if page is None:
            raise _bad_annotation(f"{reference.annotation or reference.source} does not contain page {task.page}")
        return replace(page, doc_id=task.doc_id, split=reference.split)

    def truth(self, reference: DocumentRef) -> Truth:
        # Page tasks of one document follow each other, so its annotation is read once for all of them.
        if self._latest is None or self._latest[0] != reference:
            self._latest = reference, self._reader.read(reference)
        return self._latest[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._latest = None


class OcrWordSource:
    """Words from the OCR engine or the text layer of a PDF, with the tags of the annotation, if it has tags."""

    stage = "ocr"

    def __init__(self, reader: Reader, recognition: Recognition) -> None:
        self._reader = reader
        self._annotation = AnnotationWordSource(reader)
        self._recogniser = IsolatedRecogniser(recognition)
        self._latest: tuple[str, str, bytes] | None = None

    def open(self, reference: DocumentRef) -> OpenedDocument:
        data = sources.read_bytes(reference.image)
        num_pages = self._recogniser.count_pages(data)
        truth = self._annotation.truth(reference)
        document = replace(truth.document, num_pages=num_pages)
        numbers = tuple(range(1, num_pages + 1))
        return OpenedDocument(
            reference=reference, document=document, pages=numbers, repairs=truth.repairs, dropped=truth.dropped
        )

    def page(self, task: PageTask) -> Page:
        recognised = words_of(task) if task.read_in else self._recogniser.recognise(self._file(task), task.page)
        if self._reader.tags:
            recognised = replace(recognised, words=self._tagged(recognised.words, task))
        reference = task.reference
        return recognised.of_document(task.doc_id, reference.source, reference.image, reference.split)

    def _file(self, task: PageTask) -> bytes:
        # Page tasks of one document follow each other, so its file is read once for all of them.
        image = task.reference.image
        if self._latest is None or self._latest[:2] != (task.doc_id, image):
            self._latest = None
            data = sources.read_bytes(image)
            if image == task.reference.source and sources.content_id(data) != task.doc_id:
                message = f"{image} has changed since it was opened; run the same ingest again to open it again"
                raise DocumentError(Reason.CHANGED, message, stage="open")
            self._latest = task.doc_id, image, data
        return self._latest[2]

    def _tagged(self, words: tuple[Word, ...], task: PageTask) -> tuple[Word, ...]:
        truth = self._annotation.truth(task.reference)
        if truth.regions is not None:
            return label_by_area(words, truth.regions)
        # A picture has the one page 1. Its annotation may have another number: that of the page in a longer document.
        is_only_page = truth.document.num_pages == len(truth.pages) == task.page == 1
        annotated = truth.pages[0] if is_only_page else self._annotation.page(task)
        return transfer_tags(words, annotated.words)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._latest = None
        self._recogniser.close()


def make_word_source(reader: str, words: str, recognition: Recognition) -> WordSource:
    """The word source for the data set format `reader`. `words`: `ocr` or `annotation`."""
    loaded = readers.load(reader, recognition)
    return AnnotationWordSource(loaded) if words == "annotation" else OcrWordSource(loaded, recognition)


def open_document(words: WordSource, reference: DocumentRef) -> OpenedDocument:
    """Open a document. The result has its identity, page numbers and truth, or the dead letter of the failure."""

    def opened() -> OpenedDocument:
        annotation = sources.content_id(sources.read_bytes(reference.annotation)) if reference.annotation else ""
        return replace(words.open(reference), annotation=annotation)

    result = _tried(opened, "open", reference.source)
    if isinstance(result, DeadLetter):
        return OpenedDocument(reference=reference, document=None, letter=result)
    return result


def recognise_page(words: WordSource, task: PageTask) -> Page | DeadLetter:
    """Process one page. The result is the page with its words, or the dead letter of the failure."""
    result = _tried(lambda: words.page(task), words.stage, task.reference.source)
    if isinstance(result, DeadLetter):
        return replace(result, doc_id=task.doc_id, page_id=task.page_id, page=task.page)
    return result


def _tried(work: Callable[[], Done], stage: str, source: str) -> Done | DeadLetter:
    """What `work` returns, or the dead letter of its last failure. `stage`: of an error that does not name its own."""
    attempt = 1
    while True:
        try:
            return work()
        except Exception as error:
            failure = as_document_error(error, stage)
            if not failure.retryable or attempt == ATTEMPTS:
                return DeadLetter.of(failure, source, attempts=attempt)
        time.sleep(_PAUSE)
        attempt += 1


def _bad_annotation(message: str) -> DocumentError:
    return DocumentError(Reason.BAD_ANNOTATION, message, stage="annotation")
