"""Documents with all their pages, which may lie in several shards, and the DOCUMENTS beside them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.store import codec, shards, sources
from layoutray.store.schema import DOCUMENTS, PAGES

_TOGETHER = 64


def whole_documents(
    folders: Sequence[str], doc_ids: Collection[str], known: Sequence[Page] = ()
) -> Iterator[tuple[Document, list[Page]]]:
    """The documents `doc_ids` of PAGES folders, each with those of its pages that could be read, in order.

    Args:
        known: pages that need not be read again.

    Raises:
        SchemaError: when a folder has no DOCUMENTS beside it.
    """
    documents = {document.doc_id: document for document in documents_of(folders, _of(doc_ids))}
    here: dict[str, dict[int, Page]] = defaultdict(dict)
    for page in known:
        here[page.doc_id][page.number] = page
    apart = [doc_id for doc_id, document in documents.items() if len(here[doc_id]) < document.num_pages]
    for page in _pages(folders, apart):
        here[page.doc_id].setdefault(page.number, page)
    for doc_id, document in documents.items():
        yield document, [here[doc_id][number] for number in sorted(here[doc_id])]


def documents_together(folders: Sequence[str], doc_ids: Collection[str]) -> Iterator[list[tuple[Document, list[Page]]]]:
    """Some `whole_documents` at a time, in the order of their ids: all of them with all their words may not fit into memory."""
    ids = sorted(doc_ids)
    for at in range(0, len(ids), _TOGETHER):
        yield list(whole_documents(folders, ids[at : at + _TOGETHER]))


def documents_of(folders: Sequence[str], chosen: pc.Expression) -> Iterator[Document]:
    """The `chosen` documents from the folder `documents` beside each PAGES folder.

    Raises:
        SchemaError: when there is none.
    """
    for folder in folders:
        for table in shards.scan(
            sources.join(folder.rstrip("/").rpartition("/")[0], "documents"), DOCUMENTS, filter=chosen
        ):
            yield from codec.documents_of(table)


def _pages(folders: Sequence[str], doc_ids: Collection[str]) -> Iterator[Page]:
    if doc_ids:
        for folder in folders:
            for table in shards.scan(folder, PAGES, filter=_of(doc_ids)):
                yield from codec.pages_of(table)


def _of(doc_ids: Collection[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(sorted(doc_ids), pa.string()))
