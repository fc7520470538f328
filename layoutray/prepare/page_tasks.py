"""The records of an ingest plan. `record_codecs` writes them as text.

Not in the module that makes plans, because that module imports recipes and, through them, PyTorch, which workers do not
need.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.document import Document
from layoutray.readers import DocumentRef
from layoutray.store.dead_letter import DeadLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTask:
    """One page to process.

    Attributes:
        reference: the document of the page. Its split is decided.
        read_in: URI of a shard with the words that the same OCR has read of the page; empty: the page is to be read.
    """

    page_id: str
    doc_id: str
    page: int
    reference: DocumentRef
    read_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDocument:
    """Result of opening a document: `document`, or the `letter` that says why it cannot be opened.

    Attributes:
        pages: numbers of its pages, from 1 (a data set may contain single pages of longer documents).
        annotation: SHA-256 of the annotation file's bytes; empty if there is none.
        repairs: boxes of the annotation that were put in order or cut to the page.
        dropped: words of the annotation that were left out: without text, without position, or exact repeats.
    """

    reference: DocumentRef
    document: Document | None
    letter: DeadLetter | None = None
    pages: tuple[int, ...] = ()
    annotation: str = ""
    repairs: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A file with the same bytes as another file of the set. Only that other file is used."""

    source: str
    same_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every page of a data set. The sequences are in memory or on disk.

    Attributes:
        letters: one for each document that cannot be opened.
        repairs, dropped: of all documents, see `OpenedDocument`.
        without_picture: sources of documents without a picture, where OCR has nothing to read. They are not processed.
    """

    page_tasks: Sequence[PageTask]
    documents: Sequence[Document]
    letters: Sequence[DeadLetter]
    duplicates: Sequence[Duplicate]
    repairs: int
    dropped: int
    without_picture: Sequence[str] = ()
