"""Documents with all their pages, which may be in several shards."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.store import shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.store.spilled import JSON, SpilledDict

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
    documents = {document.doc_id: document for document in read_documents(data_sets, has_id(doc_ids))}
    pages: dict[str, dict[int, Page]] = defaultdict(dict)
    for page in loaded:
        pages[page.doc_id][page.number] = page
    incomplete = [doc_id for doc_id, document in documents.items() if len(pages[doc_id]) < document.num_pages]
    for data_set in reversed(data_sets) if incomplete else ():
        for page in data_set.read_pages(has_id(incomplete)):
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
    located: SpilledDict[dict[str, list[str]]] = SpilledDict(JSON)
    for uri, table in shards.read_each(data_set.pages, PAGES, ["doc_id", "page_id"]):
        in_shard: dict[str, list[str]] = defaultdict(list)
        for doc_id, page_id in zip(table["doc_id"].to_pylist(), table["page_id"].to_pylist(), strict=True):
            in_shard[doc_id].append(page_id)
        for doc_id, page_ids in in_shard.items():
            located[doc_id] = located.get(doc_id, {}) | {uri: page_ids}
    return located


def read_documents(data_sets: Sequence[DataSet], rows: pc.Expression | None = None) -> Iterator[Document]:
    """The documents of all data sets that pass `rows`; of one that several data sets have, the last.

    Raises:
        SchemaError: if a data set has no documents.
    """
    last = last_data_sets([data_set.scan_documents(rows) for data_set in data_sets])
    for number, data_set in enumerate(data_sets):
        yield from (one for one in data_set.read_documents(rows) if last.get(one.doc_id, number) == number)


def last_data_sets(tables: Sequence[Iterable[pa.Table]]) -> Mapping[str, int]:
    """Number of the last data set that has each document, from the rows of each data set; empty for a single one."""
    last: SpilledDict[int] = SpilledDict(JSON)
    for number, of_set in enumerate(tables if len(tables) > 1 else ()):
        for table in of_set:
            for doc_id in table["doc_id"].unique().to_pylist():
                last[doc_id] = number
    return last


def labelled_ids(data_set: DataSet, most: int) -> list[str]:
    """Ids of the first documents by id that have values or, on a page, a word with a tag. Ids are hashes."""
    found: set[str] = set()
    has_values = pc.list_value_length(pc.field("fields")) > 0  # pyright: ignore[reportAttributeAccessIssue]
    of_values = data_set.scan_documents(has_values)
    of_tags = data_set.scan_pages(["doc_id"], pc.field("tags").is_valid())
    for table in chain(of_values, of_tags):
        found = {*nsmallest(most, found.union(table["doc_id"].to_pylist()))}
    return sorted(found)


def has_id(doc_ids: Collection[str]) -> pc.Expression:
    """The condition of rows of these documents."""
    return pc.field("doc_id").isin(pa.array(sorted(doc_ids), pa.string()))
