"""Readers of data sets in their native formats. A reader is a module here that defines `READER`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast, runtime_checkable

from layoutray import registry
from layoutray.document import Document, Field, LabelledArea, Page
from layoutray.errors import DocumentError
from layoutray.ocr.settings import Recognition


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRef:
    """Reference to a document that a reader has listed but not opened.

    Attributes:
        key: the document's id in the data set.
        source: URI of the file whose bytes identify the document (`doc_id` is their SHA-256).
        image: URI of the picture or PDF for OCR; empty when the data set has none.
        annotation: URI of the annotation; a `data:` URI when one file holds those of many documents; empty when there
            is none.
        split: train, dev or test of the data set; empty when it has no splits.
    """

    key: str
    source: str
    image: str
    annotation: str
    split: str

    def document(self, doc_id: str, num_pages: int = 1, fields: Iterable[Field] = ()) -> Document:
        """The document, once it is opened. 0 pages: their number is known when it is opened for OCR."""
        return Document(doc_id=doc_id, source=self.source, split=self.split, num_pages=num_pages, fields=tuple(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The annotation of one document.

    Attributes:
        pages: pages with annotated words; empty for data sets without words.
        repairs: number of boxes that were reordered or clipped to the page.
        dropped: number of annotated words or lines that are left out: without text or box, with a wrong value, or that
            repeat another exactly.
        regions: labelled areas of a one-page document, for data sets with areas and no words; None for other data sets.
        failures: why a page of the annotation is not in `pages`, by its number.
    """

    document: Document
    pages: tuple[Page, ...]
    repairs: int = 0
    dropped: int = 0
    regions: tuple[LabelledArea, ...] | None = None
    failures: Mapping[int, DocumentError] = field(default_factory=dict[int, DocumentError])


class Reader(Protocol):
    """Lists and reads the documents of one data set."""

    name: str
    """Name in recipes: the module's name."""
    tags: str
    """Meaning of a word's tag: `iob2` (entities), `region` (region labels) or empty (no tags)."""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        """The documents below `root` in a stable order. Raises InputError when there are none."""
        ...

    def read(self, reference: DocumentRef) -> Truth:
        """The annotation of `reference`. Raises DocumentError (stage `annotation`) when it cannot be read."""
        ...


@runtime_checkable
class RecognisesPages(Protocol):
    """A reader that runs recognition itself, because its annotation depends on the words of the pages."""

    def with_recognition(self, recognition: Recognition) -> Reader:
        """The same reader with these settings."""
        ...


@runtime_checkable
class NamesPictures(Protocol):
    """A reader of files that come from other machines and name pictures anywhere (`named_pictures`)."""

    def with_pictures(self, folders: Sequence[str]) -> Reader:
        """The same reader, which also uses pictures below these folders."""
        ...


def load(name: str, recognition: Recognition | None = None, pictures: Sequence[str] = ()) -> Reader:
    """The reader called `name`.

    Args:
        recognition: settings for a reader that runs recognition itself; None: the defaults.
        pictures: folders, besides that of the documents, whose pictures the files of a data set may name.
    """
    reader = registry.load(__name__, "READER", name)
    if recognition is not None and isinstance(reader, RecognisesPages):
        return reader.with_recognition(recognition)
    if pictures and isinstance(reader, NamesPictures):
        return reader.with_pictures(pictures)
    return cast(Reader, reader)
