"""What passes between the one that plans and the workers: documents as opened, pages to do; and both as Arrow rows.

Kept apart from the making of plans, which knows recipes and through them PyTorch: no worker has to import that.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import pyarrow as pa

from layoutray.document import Document
from layoutray.readers import DocumentRef
from layoutray.store.codec import document_of
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS


@dataclass(frozen=True, slots=True)
class PageTask:
    """One page to do.

    Attributes:
        page: counted from 1.
        item: the document that it belongs to, with its split decided.
    """

    page_id: str
    doc_id: str
    page: int
    item: DocumentRef


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """What opening a document told: either `document`, or the `letter` that says why not.

    Attributes:
        pages: numbers of its pages, counted from 1 (a data set may cut single pages out of longer documents).
        annotation: SHA-256 of the annotation file's bytes; empty where there is none.
        repairs: boxes of the annotation that had to be put in order or cut to the page.
        dropped: words of the annotation that were left out: without text or place, or exact repeats.
    """

    item: DocumentRef
    document: Document | None
    letter: DeadLetter | None = None
    pages: tuple[int, ...] = ()
    annotation: str = ""
    repairs: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A file whose bytes are those of another file of the set; only that one is used."""

    source: str
    same_as: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Every page of a set. Its parts are lists, in memory or on disk.

    Attributes:
        letters: one for each document that cannot be opened.
        repairs: boxes of annotations that had to be put in order or cut to the page.
        dropped: annotated words that were left out: without text or place, or exact repeats.
        without_picture: sources of documents that the set ships no picture of, where words come by OCR: nothing can be done with them.
    """

    units: Sequence[PageTask]
    documents: Sequence[Document]
    letters: Sequence[DeadLetter]
    duplicates: Sequence[Duplicate]
    repairs: int
    dropped: int
    without_picture: Sequence[str] = ()


_ITEM = pa.struct([(name, pa.string()) for name in ("key", "source", "image", "annotation", "split")])
_ITEMS = pa.schema(list(_ITEM))
_UNITS = pa.schema([("page_id", pa.string()), ("doc_id", pa.string()), ("page", pa.int32()), ("item", _ITEM)])
_OPENED = pa.struct(
    [
        ("item", _ITEM),
        ("document", pa.struct(list(DOCUMENTS))),
        ("letter", pa.struct(list(DEAD_LETTERS))),
        ("pages", pa.list_(pa.int32())),
        ("annotation", pa.string()),
        ("repairs", pa.int32()),
        ("dropped", pa.int32()),
    ]
)


def items_table(items: Iterable[DocumentRef]) -> pa.Table:
    """Items as rows."""
    return pa.Table.from_pylist([asdict(item) for item in items], schema=_ITEMS)


def items_of(table: pa.Table) -> Iterator[DocumentRef]:
    """The items of `items_table`'s rows."""
    return (DocumentRef(**row) for row in table.to_pylist())


def units_table(units: Iterable[PageTask]) -> pa.Table:
    """Units as rows."""
    return pa.Table.from_pylist([asdict(unit) for unit in units], schema=_UNITS)


def units_of(table: pa.Table) -> Iterator[PageTask]:
    """The units of `units_table`'s rows."""
    return (
        PageTask(row["page_id"], row["doc_id"], row["page"], DocumentRef(**row["item"])) for row in table.to_pylist()
    )


def opened_table(opened: Iterable[OpenedDocument]) -> pa.Table:
    """OpenedDocument documents as one row: each row that a worker yields takes Ray a tenth of a second."""
    return pa.table({"opened": pa.array([[asdict(one) for one in opened]], pa.list_(_OPENED))})


def opened_of(table: pa.Table) -> Iterator[OpenedDocument]:
    """The opened documents of `opened_table`s."""
    for row in chain.from_iterable(table["opened"].to_pylist()):
        document, letter = row["document"], row["letter"]
        yield OpenedDocument(
            item=DocumentRef(**row["item"]),
            document=document and document_of(document),
            letter=letter and DeadLetter(**letter),
            pages=tuple(row["pages"]),
            annotation=row["annotation"],
            repairs=row["repairs"],
            dropped=row["dropped"],
        )
