"""The tables on disk: columns, types and versions. Parquet that any reader opens without this package.

Lists are `large_list` and text in them `large_string`: a shard of many pages overflows 32-bit offsets otherwise.
Boxes lie in one contiguous float buffer (`fixed_size_list<float>[4]` inside the list).
"""

import pyarrow as pa

from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import SchemaError

_BOXES = pa.large_list(pa.list_(pa.float32(), 4))
_TEXTS = pa.large_list(pa.large_string())
_INTS = pa.large_list(pa.int32())


def _table(name: str, *columns: pa.Field, version: str = "1") -> pa.Schema:
    return pa.schema(columns, metadata={"layoutray.table": name, "layoutray.version": version})


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


PAGES = _table(
    "pages",
    _required("page_id", pa.string()),  # hash of doc_id, page and the settings that made the words
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
    _required("fields", pa.large_list(pa.struct([("name", pa.string()), ("value", pa.large_string())]))),
)

OPENED = _table(
    "opened",
    pa.field("source", pa.string(), nullable=False),
    pa.field("stamp", pa.string(), nullable=False),
    pa.field("doc_id", pa.string(), nullable=False),
    pa.field("num_pages", pa.int32(), nullable=False),
)
"""A row for each file that need not be opened again while its `stamp` is the same."""

DEAD_LETTERS = _table(
    "dead_letters",
    _required("page_id", pa.string()),  # empty when the document could not even be opened
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
    _required("boxes", pa.large_list(pa.list_(pa.int32(), 4))),
    _required("word_index", _INTS),  # word of the page that each token came from; -1 on special tokens
    # for each word of the window its neighbours, counted from 0 in the window; -1 where there are fewer
    _required("neighbours", pa.large_list(pa.list_(pa.int32(), MAX_NEIGHBOURS))),
    _required("page_width", pa.int32()),
    _required("page_height", pa.int32()),
    pa.field("labels", _INTS),
    version="3",  # 1 had no neighbours, 2 no size of the page
)

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
    _required("polygons", pa.large_list(pa.list_(pa.float32(), 8))),
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
)


TEXTS = _table(
    "texts",
    _required("doc_id", pa.string()),
    _required("source", pa.string()),
    _required("status", pa.string()),
    _required("model_id", pa.string()),
    _required("model_version", pa.string()),
    _required("text", pa.large_string()),
    _required("tokens", pa.int32()),  # of the document, the special ones included
    _required("tokens_read", pa.int32()),  # fewer where it is longer than the model takes
)


def check(schema: pa.Schema, expected: pa.Schema, where: str) -> None:
    """Raise SchemaError unless `schema` is `expected`: same table, version and columns.

    Args:
        where: the file or folder, for the message.
    """
    name = _meta(expected, "layoutray.table")
    if _meta(schema, "layoutray.table") != name:
        found = _meta(schema, "layoutray.table") or "no layoutray table"
        raise SchemaError(f"{where} holds {found}, expected {name}; point to a folder of {name} shards")
    version, found = _meta(expected, "layoutray.version"), _meta(schema, "layoutray.version")
    if found != version:
        raise SchemaError(
            f"{where} has {name} version {found}, this program reads version {version}; make it again with `layoutray`"
        )
    missing = set(expected.names) - set(schema.names)
    if missing:
        raise SchemaError(f"{where} lacks the columns {sorted(missing)} of {name}")


def _meta(schema: pa.Schema, key: str) -> str:
    return (schema.metadata or {}).get(key.encode(), b"").decode()
