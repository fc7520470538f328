"""Columns, types and versions of the tables on disk. They are Parquet files that any Parquet reader can open.

Lists are `large_list` and their texts `large_string`, because a shard of many pages overflows 32-bit offsets. Boxes are
stored in one contiguous float buffer (`fixed_size_list<float>[4]` inside the list).
"""

import pyarrow as pa

from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import SchemaError

SPLITS = ("train", "dev", "test")
"""The splits of pages and examples."""

_BOXES = pa.large_list(pa.list_(pa.float32(), 4))
_TEXTS = pa.large_list(pa.large_string())
_INTS = pa.large_list(pa.int32())


def _table(name: str, *columns: pa.Field, version: str = "1") -> pa.Schema:
    return pa.schema(columns, metadata={"layoutray.table": name, "layoutray.version": version})


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


PAGES = _table(
    "pages",
    _required("page_id", pa.string()),  # hash of doc_id, page, annotation and settings
    _required("doc_id", pa.string()),
    _required("page", pa.int32()),
    _required("split", pa.string()),
    _required("source", pa.string()),
    _required("image", pa.string()),
    _required("width", pa.int32()),
    _required("height", pa.int32()),
    _required("words", _TEXTS),
    _required("boxes", _BOXES),
    pa.field("confidences", pa.large_list(pa.float32())),
    _required("lines", _INTS),
    _required("blocks", _INTS),
    pa.field("tags", _TEXTS),
    pa.field("groups", _INTS),
    _required("words_from", pa.string()),
    _required("words_reason", pa.string()),
    _required("engine", pa.string()),
    _required("engine_version", pa.string()),
    _required("settings", pa.string()),
)

DOCUMENTS = _table(
    "documents",
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    _required("split", pa.string()),
    _required("num_pages", pa.int32()),
    _required(
        "fields", pa.large_list(pa.struct([("name", pa.string()), ("value", pa.large_string()), ("row", pa.int32())]))
    ),
)

OPENED = _table(
    "opened",
    pa.field("source", pa.string(), nullable=False),
    pa.field("stamp", pa.string(), nullable=False),
    pa.field("doc_id", pa.string(), nullable=False),
    pa.field("num_pages", pa.int32(), nullable=False),
)
"""One row for each file that is not opened again as long as its `stamp` (size and time of change) is the same."""

DEAD_LETTERS = _table(
    "dead_letters",
    _required("page_id", pa.string()),  # empty if the document could not be opened
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    pa.field("page", pa.int32()),
    _required("stage", pa.string()),
    _required("reason", pa.string()),
    _required("message", pa.large_string()),
    _required("attempts", pa.int32()),
    _required("retryable", pa.bool_()),
    _required("trace", pa.large_string()),
)

EXAMPLES = _table(
    "examples",
    _required("doc_id", pa.string()),
    _required("page", pa.int32()),
    _required("window", pa.int32()),
    _required("split", pa.string()),
    _required("input_ids", _INTS),
    _required("boxes", pa.large_list(pa.list_(pa.int16(), 4))),
    _required("word_index", _INTS),  # word of the page for each token; -1 for special tokens
    # neighbours of each word of the window, counted from 0 in the window; padded with -1
    _required("neighbours", pa.large_list(pa.list_(pa.int16(), MAX_NEIGHBOURS))),
    _required("page_width", pa.int32()),
    _required("page_height", pa.int32()),
    pa.field("labels", _INTS),
    version="4",  # version 1 has no neighbours, version 2 no page size, version 3 no index of blocks
)

EXAMPLE_BLOCKS = _table(
    "example_blocks",
    _required("file", pa.string()),
    _required("offset", pa.int64()),  # in bytes, in the file
    _required("size", pa.int64()),
    _required("lengths", pa.large_list(pa.uint32())),  # tokens of each example
)
"""One row for each record batch of the files of EXAMPLES, in the order of the examples."""

ANSWERS = _table(
    "answers",
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    _required("status", pa.string()),
    _required("model_id", pa.string()),
    _required("model_version", pa.string()),
    _required("page", pa.int32()),
    _required("type", pa.string()),
    _required("content", pa.large_string()),
    _required("confidence", pa.float32()),
    _required("reading_confidence", pa.float32()),
    pa.field("sum_of_rows", pa.bool_()),
    _required("polygons", pa.large_list(pa.list_(pa.float32(), 8))),
    pa.field("record", pa.string()),
    pa.field("row", pa.int32()),
    version="3",  # version 1 has no confidence of reading, version 2 no sums of rows
)

FIELDS = _table(
    "fields",
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    _required("model_id", pa.string()),
    _required("model_version", pa.string()),
    _required("name", pa.string()),
    _required("value", pa.large_string()),
    _required("content", pa.large_string()),
    _required("confidence", pa.float32()),
    _required("score", pa.float32()),
    _required("page", pa.int32()),
    _required("polygons", pa.large_list(pa.list_(pa.float32(), 8))),
    pa.field("known_value", pa.large_string()),
    _required("accepted", pa.bool_()),
    version="3",  # version 1 has no known values, version 2 does not say what is accepted
)


TEXTS = _table(
    "texts",
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    _required("status", pa.string()),
    _required("model_id", pa.string()),
    _required("model_version", pa.string()),
    _required("text", pa.large_string()),
    _required("tokens", pa.int32()),  # tokens of the document, special tokens included
    _required("tokens_read", pa.int32()),  # fewer than `tokens` if the document is longer than the model accepts
)


def check(schema: pa.Schema, expected: pa.Schema, where: str) -> None:
    """Raise SchemaError unless `schema` has the table, version and columns of `expected`.

    A nullable column may be missing: files of earlier versions lack it, and its values are null.

    Args:
        where: file or folder, for the message.
    """
    name = _meta(expected, "layoutray.table")
    if _meta(schema, "layoutray.table") != name:
        found = _meta(schema, "layoutray.table") or "no layoutray table"
        raise SchemaError(f"{where} contains {found}, expected {name}; give a folder of {name} shards")
    version, found = _meta(expected, "layoutray.version"), _meta(schema, "layoutray.version")
    if found != version:
        raise SchemaError(
            f"{where} has {name} version {found}, this program reads version {version}; "
            "create it again with `layoutray`"
        )
    missing = {field.name for field in expected if not field.nullable} - set(schema.names)
    if missing:
        raise SchemaError(f"{where} does not have the columns {sorted(missing)} of {name}")


def _meta(schema: pa.Schema, key: str) -> str:
    return (schema.metadata or {}).get(key.encode(), b"").decode()
