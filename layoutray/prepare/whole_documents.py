"""Documents with all their pages, which may be in several shards."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.store import shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.store.spilled import SpilledDict, TextCodec

_DOCUMENTS_PER_GROUP = 64


def whole_documents(
    data_sets: Sequence[DataSet], doc_ids: Collection[str], loaded: Sequence[Page] = ()
) -> Iterator[tuple[Document, list[Page]]]:
    """The documents `doc_ids`, each with its readable pages, in page order.

    Args:
        loaded: pages that need not be read again.

    Raises:
        SchemaError: if a data set has no documents.
    """
    documents = {document.doc_id: document for document in read_documents(data_sets, _has_id(doc_ids))}
    pages: dict[str, dict[int, Page]] = defaultdict(dict)
    for page in loaded:
        pages[page.doc_id][page.number] = page
    incomplete = [doc_id for doc_id, document in documents.items() if len(pages[doc_id]) < document.num_pages]
    for page in _read_pages(data_sets, incomplete):
        pages[page.doc_id].setdefault(page.number, page)
    for doc_id, document in documents.items():
        yield document, [pages[doc_id][number] for number in sorted(pages[doc_id])]


def document_groups(
    data_sets: Sequence[DataSet], doc_ids: Collection[str]
) -> Iterator[list[tuple[Document, list[Page]]]]:
    """The documents `doc_ids` in groups, by id. All documents with all their words may not fit into memory."""
    ids = sorted(doc_ids)
    for start in range(0, len(ids), _DOCUMENTS_PER_GROUP):
        yield list(whole_documents(data_sets, ids[start : start + _DOCUMENTS_PER_GROUP]))


def page_shards(data_set: DataSet) -> SpilledDict[dict[str, list[str]]]:
    """Where the pages of each document are: its page ids by the URI of their shard. On the local disk."""
    codec: TextCodec[dict[str, list[str]]] = TextCodec(json.dumps, json.loads)
    located = SpilledDict(codec)
    for uri, table in shards.read_each(data_set.pages, PAGES, ["doc_id", "page_id"]):
        in_shard: dict[str, list[str]] = defaultdict(list)
        for doc_id, page_id in zip(table["doc_id"].to_pylist(), table["page_id"].to_pylist(), strict=True):
            in_shard[doc_id].append(page_id)
        for doc_id, page_ids in in_shard.items():
            located[doc_id] = located.get(doc_id, {}) | {uri: page_ids}
    return located


def read_documents(data_sets: Sequence[DataSet], rows: pc.Expression | None = None) -> Iterator[Document]:
    """The documents of all data sets that pass `rows`. Raises SchemaError if a data set has no documents."""
    for data_set in data_sets:
        yield from data_set.read_documents(rows)


def _read_pages(data_sets: Sequence[DataSet], doc_ids: Collection[str]) -> Iterator[Page]:
    if doc_ids:
        for data_set in data_sets:
            yield from data_set.read_pages(_has_id(doc_ids))


def _has_id(doc_ids: Collection[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(sorted(doc_ids), pa.string()))
