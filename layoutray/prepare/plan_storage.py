"""Lists and dicts on disk of what a plan is made of: documents as opened, pages to do, letters."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any

from layoutray.document import Document, Field
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, PageTask
from layoutray.readers import DocumentRef
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.spilled import SpilledDict, SpilledList


def items() -> SpilledList[DocumentRef]:
    """Documents that a reader has found."""
    return SpilledList(_pack_item, lambda text: DocumentRef(*json.loads(text)))


def units() -> SpilledList[PageTask]:
    """Pages to do."""
    return SpilledList(_pack_unit, _unpack_unit)


def opened() -> SpilledList[OpenedDocument]:
    """What opening documents told."""
    return SpilledList(_pack_opened, _unpack_opened)


def opened_by_item(found: Iterable[OpenedDocument] = ()) -> SpilledDict[OpenedDocument]:
    """The same by `item_key`."""
    by_item = SpilledDict(_pack_opened, _unpack_opened)
    for one in found:
        by_item[item_key(one.item)] = one
    return by_item


def documents() -> SpilledList[Document]:
    """Documents with their truth."""
    return SpilledList(lambda document: json.dumps(_document_row(document)), lambda text: _document(json.loads(text)))


def letters() -> SpilledList[DeadLetter]:
    """Dead letters."""
    return SpilledList(lambda letter: json.dumps(astuple(letter)), lambda text: DeadLetter(*json.loads(text)))


def duplicates() -> SpilledList[Duplicate]:
    """Files that are there twice."""
    return SpilledList(lambda one: json.dumps((one.source, one.same_as)), lambda text: Duplicate(*json.loads(text)))


def item_key(item: DocumentRef) -> str:
    """Short name of an item: an annotation may be as long as a file."""
    return hashlib.blake2b(_pack_item(item).encode(), digest_size=16).hexdigest()


def _item_row(item: DocumentRef) -> tuple[str, ...]:
    return item.key, item.source, item.image, item.annotation, item.split


def _pack_item(item: DocumentRef) -> str:
    return json.dumps(_item_row(item))


def _pack_unit(unit: PageTask) -> str:
    return json.dumps((unit.page_id, unit.doc_id, unit.page, _item_row(unit.item)))


def _unpack_unit(text: str) -> PageTask:
    page_id, doc_id, page, item = json.loads(text)
    return PageTask(page_id, doc_id, page, DocumentRef(*item))


def _pack_opened(one: OpenedDocument) -> str:
    count = len(one.pages)
    pages = count if one.pages == tuple(range(1, count + 1)) else one.pages
    document, letter = one.document and _document_row(one.document), one.letter and astuple(one.letter)
    return json.dumps((_item_row(one.item), document, letter, pages, one.annotation, one.repairs, one.dropped))


def _unpack_opened(text: str) -> OpenedDocument:
    item, document, letter, pages, *rest = json.loads(text)
    numbers = tuple(range(1, pages + 1)) if isinstance(pages, int) else tuple(pages)
    return OpenedDocument(
        DocumentRef(*item), document and _document(document), letter and DeadLetter(*letter), numbers, *rest
    )


def _document_row(document: Document) -> tuple[object, ...]:
    fields = [(field.name, field.value) for field in document.fields]
    return document.doc_id, document.source, document.split, document.num_pages, fields


def _document(row: Sequence[Any]) -> Document:
    doc_id, source, split, num_pages, fields = row
    return Document(doc_id, source, split, num_pages, tuple(Field(*field) for field in fields))
