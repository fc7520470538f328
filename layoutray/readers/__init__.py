"""Data sets in their native formats. A reader is a module here that ends in `READER`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, cast

from layoutray import registry
from layoutray.document import Document, LabelledArea, Page


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """One document that a reader has found; cheap to list, not opened yet.

    Attributes:
        key: the data set's own id.
        source: URI of the file whose bytes identify the document (`doc_id` is their SHA-256).
        image: URI of the picture or PDF for OCR; empty where the set ships none.
        annotation: URI of the truth (`data:` where the set keeps that of many documents in one file); empty where there is none.
        split: train, dev or test as the set says; empty where it does not.
    """

    key: str
    source: str
    image: str
    annotation: str
    split: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What a data set says about one document: its fields, and its pages with annotated words (none for sets without words).

    Attributes:
        repairs: how many boxes had to be put in order or cut to the page.
        dropped: how many annotated words or lines were left out: without text, without a place, or exact repeats.
        not_annotated: numbers of pages that were given to people to annotate, and that nobody has annotated.
        regions: labelled areas of a one-page document, of sets that label areas and ship no words; None of all other sets.
    """

    document: Document
    pages: tuple[Page, ...]
    repairs: int = 0
    dropped: int = 0
    regions: tuple[LabelledArea, ...] | None = None
    not_annotated: tuple[int, ...] = ()


class Reader(Protocol):
    """How one data set is found and read."""

    name: str
    """As in recipes; the module's name."""
    tags: str
    """What a word's tag means: `iob2` (entities), `region` (a class per word) or empty (no word labels)."""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        """Items below `root` in a stable order. Raises InputError, naming what it looked for, when there are none."""
        ...

    def read(self, item: DocumentRef) -> Truth:
        """The truth of `item`. Raises DocumentError (stage `annotation`) when it cannot be read."""
        ...


def load(name: str) -> Reader:
    """The reader called `name`."""
    return cast(Reader, registry.load(__name__, "READER", name))
