"""One text codec for each record of an ingest plan.

The same text is a row of a list on disk (`store.spilled`) and the form in which a record travels between the driver and
the workers, so a record that goes from a list to a worker is packed once and unpacked once.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
from pydantic import TypeAdapter

from layoutray.document import Document
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, PageTask
from layoutray.readers import DocumentRef
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


def _json(record: type[Value]) -> TextCodec[Value]:
    """The JSON of a dataclass; fields with the value of their default are left out."""
    adapter = TypeAdapter(record)
    return TextCodec(lambda value: adapter.dump_json(value, exclude_defaults=True).decode(), adapter.validate_json)


DOCUMENT_REF = _json(DocumentRef)
PAGE_TASK = _json(PageTask)
OPENED_DOCUMENT = _json(OpenedDocument)
DOCUMENT = _json(Document)
DEAD_LETTER = _json(DeadLetter)
DUPLICATE = _json(Duplicate)
