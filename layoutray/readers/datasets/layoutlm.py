"""The convention of LayoutLM in Parquet: words, boxes in thousandths of the page, and a tag of each word.

Files: `{train,validation,test}*.parquet`, as `layoutray export dataset` and `datasets.Dataset.to_parquet` write them. A
row is a page with `tokens`, `bboxes` and `ner_tags`, whose names are in the file's features. Our own files also state
document, page, size, lines and blocks. Every other row is a document of its own, with the size of its `image`, or
1000 x 1000 without one. Pictures stay in the file: the pages that are read have none.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    file_name,
    json_uri,
    json_value,
    malformed,
    member,
    nothing_found,
    page_size,
    truth_of_pages,
)
from layoutray.readers.datasets.exported import add_words
from layoutray.readers.picture_sizes import picture_size
from layoutray.readers.segments import line_starts
from layoutray.store import sources

_SPLITS = {"train": "train", "validation": "dev", "valid": "dev", "val": "dev", "dev": "dev", "test": "test"}
_SPLIT = re.compile(rf"({'|'.join(_SPLITS)})\b")
_NEEDED = ("tokens", "bboxes", "ner_tags")
_ORIGIN = ("doc_id", "page", "num_pages", "source", "width", "height", "lines", "blocks")
_THOUSANDTHS = 1000
_ROWS = 100
"""Rows in memory at a time."""


class _LayoutLM:
    name = "layoutlm"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = [uri for uri in sources.list_files(root) if _SPLIT.match(file_name(uri).name)]
        files = [uri for uri in files if file_name(uri).suffix == ".parquet"]
        if not files:
            raise nothing_found(root, "{train,validation,test}*.parquet")
        return chain.from_iterable(map(_documents, files))

    def read(self, reference: DocumentRef) -> Truth:
        rows: list[dict[str, Any]] = json_value(sources.read_bytes(reference.annotation), reference.source)
        collected = [PageWords(PageSize(_THOUSANDTHS, _THOUSANDTHS)) for _ in rows]
        for row, page in zip(rows, collected, strict=True):
            where = f"{reference.source}, page {row['page']}"
            add_words(page, row["tokens"], member(row, "bboxes", list, where), row["tags"], row, where)
        pages = (
            page.page(reference.key, reference, row["page"], page_size(row, reference.source))
            for row, page in zip(rows, collected, strict=True)
        )
        return truth_of_pages(reference.document(reference.key, rows[0]["num_pages"]), pages, collected)


def _documents(uri: str) -> Iterator[DocumentRef]:
    split = _SPLIT.match(file_name(uri).name)
    assert split, "discover has matched the name"
    documents: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(uri):
        documents.setdefault(row["doc_id"], []).append(row)
    for doc_id, rows in documents.items():
        annotation = json_uri(sorted(rows, key=lambda row: row["page"]))
        yield DocumentRef(
            key=doc_id, source=rows[0]["source"], image="", annotation=annotation, split=_SPLITS[split[1]]
        )


def _rows(uri: str) -> Iterator[dict[str, Any]]:
    """The pages of a file with names of tags, each with the members of `_ORIGIN`."""
    files, path = sources.filesystem(uri)
    with pq.ParquetFile(files.open_input_file(path)) as file:
        columns = file.schema_arrow.names
        if missing := [name for name in _NEEDED if name not in columns]:
            raise InputError(f"{uri} lacks the columns {', '.join(missing)}; it must have {', '.join(_NEEDED)}")
        names = _tag_names(file.schema_arrow, uri)
        own = set(_ORIGIN) <= set(columns)
        wanted = [*_NEEDED, *(_ORIGIN if own else [name for name in ("image",) if name in columns])]
        number = 0
        for batch in file.iter_batches(_ROWS, columns=wanted):
            for row in batch.to_pylist():
                where = f"{uri}#{number}"
                tokens = member(row, "tokens", list, where)
                tags = row.pop("ner_tags") or [None] * len(tokens)
                if wrong := [tag for tag in tags if tag is not None and tag >= len(names)]:
                    raise malformed(where, f"`ner_tags` has {wrong[0]}, but there are {len(names)} names")
                # Losses ignore negative numbers.
                row["tags"] = [None if tag is None or tag < 0 else names[tag] for tag in tags]
                yield row if own else _foreign(row, where)
                number += 1


def _tag_names(schema: pa.Schema, uri: str) -> Sequence[str]:
    stated = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    match stated:
        case {"info": {"features": {"ner_tags": {"feature": {"names": [*names]}}}}}:
            return names
        case _:
            raise InputError(
                f"{uri} does not name its tags; `ner_tags` must be a list of ClassLabel: load the data set with the "
                "package datasets, cast the column, and write it with to_parquet"
            )


def _foreign(row: dict[str, Any], where: str) -> dict[str, Any]:
    """A row from elsewhere with the members of `_ORIGIN`. Its id is a hash of its words and boxes."""
    picture = (row.pop("image", None) or {}).get("bytes")
    size = picture_size(picture, where) if picture else PageSize(_THOUSANDTHS, _THOUSANDTHS)
    page = PageWords(PageSize(_THOUSANDTHS, _THOUSANDTHS))
    boxes = [page.place(sides, where) for sides in member(row, "bboxes", list, where)]
    lines = [number - 1 for number in accumulate(line_starts(boxes))]
    return row | {
        "doc_id": sources.content_id(json.dumps([where.rpartition("/")[2], row]).encode()),
        "page": 1,
        "num_pages": 1,
        "source": where,
        "lines": lines,
        "blocks": [0] * len(lines),
        "width": int(size.width),
        "height": int(size.height),
    }


READER = _LayoutLM()
