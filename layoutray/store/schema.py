"""Columns, types and versions of the tables on disk. They are Parquet files that any Parquet reader can open.

Lists are `large_list` and their texts `large_string`, because a shard of many pages overflows 32-bit offsets. Boxes are
stored in one contiguous float buffer (`fixed_size_list<float>[4]` inside the list).
"""

import pyarrow as pa

from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import SchemaError

SPLITS = ("train", "dev", "test")
"""The splits of pages and examples."""

_TEXT, _LONG_TEXT = pa.string(), pa.large_string()
_INT, _LONG_INT, _FLOAT, _BOOLEAN = pa.int32(), pa.int64(), pa.float32(), pa.bool_()
_TEXTS, _INTS = pa.large_list(_LONG_TEXT), pa.large_list(_INT)
_BOXES = pa.large_list(pa.list_(_FLOAT, 4))
_BOX = pa.struct([(side, _FLOAT) for side in ("x0", "y0", "x1", "y1")])
_FORM_FIELD = [("name", _LONG_TEXT), ("kind", _TEXT), ("value", _LONG_TEXT), ("on", _BOOLEAN), ("drawn", _LONG_TEXT)]
_POLYGONS = pa.large_list(pa.list_(_FLOAT, 8))


def _table(name: str, *columns: pa.Field, version: str = "1") -> pa.Schema:
    return pa.schema(columns, metadata={"layoutray.table": name, "layoutray.version": version})


def _required(kind: pa.DataType, *names: str) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=False) for name in names]


PAGES = _table(
    "pages",
    *_required(_TEXT, "page_id", "doc_id"),  # page_id: hash of doc_id, page, annotation and settings
    *_required(_INT, "page"),
    *_required(_TEXT, "split", "source", "image"),
    *_required(_INT, "width", "height"),
    *_required(_TEXTS, "words"),
    *_required(_BOXES, "boxes"),
    pa.field("confidences", pa.large_list(_FLOAT)),
    *_required(_INTS, "lines", "blocks"),
    pa.field("tags", _TEXTS),
    pa.field("groups", _INTS),
    *_required(_TEXT, "words_from", "words_reason", "engine", "engine_version", "settings"),
    pa.field("form_fields", pa.large_list(pa.struct([*_FORM_FIELD, ("box", _BOX)]))),
)

DOCUMENTS = _table(
    "documents",
    *_required(_TEXT, "doc_id", "source", "split"),
    *_required(_INT, "num_pages"),
    *_required(pa.large_list(pa.struct([("name", _TEXT), ("value", _LONG_TEXT), ("row", _INT)])), "fields"),
    pa.field("from_model", _TEXT),
    pa.field("partial", _BOOLEAN),
)

OPENED = _table("opened", *_required(_TEXT, "source", "stamp", "doc_id"), *_required(_INT, "num_pages"))
"""One row for each file that is not opened again as long as its `stamp` (size and time of change) is the same."""

DEAD_LETTERS = _table(
    "dead_letters",
    *_required(_TEXT, "page_id", "doc_id", "source"),  # page_id: empty if the document could not be opened
    pa.field("page", _INT),
    *_required(_TEXT, "stage", "reason"),
    *_required(_LONG_TEXT, "message"),
    *_required(_INT, "attempts"),
    *_required(_BOOLEAN, "retryable"),
    *_required(_LONG_TEXT, "trace"),
)

EXAMPLES = _table(
    "examples",
    *_required(_TEXT, "doc_id"),
    *_required(_INT, "page", "window"),
    *_required(_TEXT, "split"),
    *_required(_INTS, "input_ids"),
    *_required(pa.large_list(pa.list_(pa.int16(), 4)), "boxes"),
    *_required(_INTS, "word_index"),  # word of the page for each token; -1 for special tokens
    # neighbours of each word of the window, counted from 0 in the window; padded with -1
    *_required(pa.large_list(pa.list_(pa.int16(), MAX_NEIGHBOURS)), "neighbours"),
    *_required(_INT, "page_width", "page_height"),
    pa.field("labels", _INTS),
    version="4",  # version 1 has no neighbours, version 2 no page size, version 3 no index of blocks
)

EXAMPLE_BLOCKS = _table(
    "example_blocks",
    *_required(_TEXT, "file"),
    *_required(_LONG_INT, "offset", "size"),  # in bytes, in the file
    *_required(pa.large_list(pa.uint32()), "lengths"),  # tokens of each example
)
"""One row for each record batch of the files of EXAMPLES, in the order of the examples."""

ANSWERS = _table(
    "answers",
    *_required(_TEXT, "doc_id", "source", "status", "model_id", "model_version"),
    *_required(_INT, "page"),
    *_required(_TEXT, "type"),
    *_required(_LONG_TEXT, "content"),
    *_required(_FLOAT, "confidence", "reading_confidence"),
    pa.field("sum_of_rows", _BOOLEAN),
    *_required(_BOOLEAN, "near_amount"),
    *_required(_POLYGONS, "polygons"),
    pa.field("record", _TEXT),
    pa.field("row", _INT),
    pa.field("form_field", _TEXT),
    pa.field("drawn", _LONG_TEXT),
    # Version 1 has no confidence of reading, version 2 no sums of rows, version 3 no form fields, 4 no near amounts.
    version="5",
)

FIELDS = _table(
    "fields",
    *_required(_TEXT, "doc_id", "source", "model_id", "model_version", "name"),
    *_required(_LONG_TEXT, "value", "content"),
    *_required(_FLOAT, "confidence", "score"),
    *_required(_INT, "page"),
    *_required(_POLYGONS, "polygons"),
    pa.field("known_value", _LONG_TEXT),
    *_required(_BOOLEAN, "accepted"),
    pa.field("form_field", _TEXT),
    pa.field("drawn", _LONG_TEXT),
    version="4",  # version 1 has no known values, version 2 does not say what is accepted, version 3 no form fields
)

TEXTS = _table(
    "texts",
    *_required(_TEXT, "doc_id", "source", "status", "model_id", "model_version"),
    *_required(_LONG_TEXT, "text"),
    # tokens of the document, special tokens included; fewer are read if it is longer than the model accepts
    *_required(_INT, "tokens", "tokens_read"),
)


def check(schema: pa.Schema, expected: pa.Schema, where: str) -> None:
    """Raise SchemaError unless `schema` has the table, version and columns of `expected`.

    A nullable column may be missing: files of earlier versions lack it, and its values are null.
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
