"""One text codec for each record of an ingest plan.

The same text is a row of a list on disk (`store.spilled`) and the form in which a record travels between the driver and
the workers, so a record that goes from a list to a worker is packed once and unpacked once.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from layoutray.document import Document
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, PageTask
from layoutray.readers import DocumentRef
from layoutray.store import codec
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.spilled import TextCodec, Value

_RECORDS = pa.schema([("records", pa.large_list(pa.large_string()))])


def to_table(packed: Iterable[str]) -> pa.Table:
    """Packed records as a table of one row: Ray needs 0.1 s for each row that a worker yields."""
    return pa.Table.from_pylist([{"records": list(packed)}], schema=_RECORDS)


def from_table(table: pa.Table, record: TextCodec[Value]) -> Iterator[Value]:
    """The records in the rows of `to_table`."""
    return map(record.unpack, chain.from_iterable(table["records"].to_pylist()))


def reference_key(reference: DocumentRef) -> str:
    """Short key of a document reference, whose annotation may be a `data:` URI as long as a file."""
    return hashlib.blake2b(DOCUMENT_REF.pack(reference).encode(), digest_size=16).hexdigest()


def _json(row: object) -> str:
    return json.dumps(row, separators=(",", ":"))


def _reference(row: Sequence[str]) -> DocumentRef:
    key, source, image, annotation, split = row
    return DocumentRef(key=key, source=source, image=image, annotation=annotation, split=split)


def _reference_row(reference: DocumentRef) -> Sequence[str]:
    return reference.key, reference.source, reference.image, reference.annotation, reference.split


def _pack_opened(opened: OpenedDocument) -> str:
    count = len(opened.pages)
    pages: Any = count if opened.pages == tuple(range(1, count + 1)) else opened.pages
    document = opened.document and codec.document_row(opened.document)
    letter = opened.letter and codec.dead_letter_row(opened.letter)
    reference = _reference_row(opened.reference)
    return _json((reference, document, letter, pages, opened.annotation, opened.repairs, opened.dropped))


def _unpack_opened(text: str) -> OpenedDocument:
    reference, document, letter, pages, annotation, repairs, dropped = json.loads(text)
    return OpenedDocument(
        reference=_reference(reference),
        document=document and codec.document_of(document),
        letter=letter and codec.dead_letter_of(letter),
        pages=tuple(range(1, pages + 1)) if isinstance(pages, int) else tuple(pages),
        annotation=annotation,
        repairs=repairs,
        dropped=dropped,
    )


def _unpack_page_task(text: str) -> PageTask:
    page_id, doc_id, page, reference = json.loads(text)
    return PageTask(page_id, doc_id, page, _reference(reference))


DOCUMENT_REF: TextCodec[DocumentRef] = TextCodec(
    lambda reference: _json(_reference_row(reference)), lambda text: _reference(json.loads(text))
)
PAGE_TASK: TextCodec[PageTask] = TextCodec(
    lambda task: _json((task.page_id, task.doc_id, task.page, _reference_row(task.reference))), _unpack_page_task
)
OPENED_DOCUMENT: TextCodec[OpenedDocument] = TextCodec(_pack_opened, _unpack_opened)
DOCUMENT: TextCodec[Document] = TextCodec(
    lambda document: _json(codec.document_row(document)), lambda text: codec.document_of(json.loads(text))
)
DEAD_LETTER: TextCodec[DeadLetter] = TextCodec(
    lambda letter: _json(codec.dead_letter_row(letter)), lambda text: codec.dead_letter_of(json.loads(text))
)
DUPLICATE: TextCodec[Duplicate] = TextCodec(
    lambda duplicate: _json((duplicate.source, duplicate.same_as)), lambda text: Duplicate(*json.loads(text))
)
