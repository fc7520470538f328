"""Tag pages from what DOCUMENTS, beside them, says should come out of each document."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Field, Page
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.prepare.tag_fields import tag_fields
from layoutray.store import codec, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DOCUMENTS, PAGES


def tagged_pages(pages: Sequence[Page], folders: Sequence[str], schema: Mapping[str, FieldType]) -> tuple[list[Page], list[DeadLetter]]:
    """`pages` in their order, each with IOB2 tags of its document's fields; those of documents without fields have no tags.

    A document is tagged as a whole, so that a page has the same tags whichever other pages it comes with. Values that stand on none of
    its pages are told with its first page, as dead letters without a page.

    Args:
        folders: of PAGES, each with the folder `documents` beside it.
    """
    documents = {document.doc_id: document for document in documents_of(folders, _of({page.doc_id for page in pages}))}
    here: dict[str, dict[int, Page]] = defaultdict(dict)
    for page in pages:
        here[page.doc_id][page.number] = page
    apart = [doc_id for doc_id, some in here.items() if doc_id in documents and len(some) < documents[doc_id].num_pages]
    for page in _pages(folders, apart):
        here[page.doc_id].setdefault(page.number, page)
    tagged: dict[tuple[str, int], Page] = {}
    letters: list[DeadLetter] = []
    asked = {(page.doc_id, page.number) for page in pages}
    for doc_id, document in documents.items():
        whole = [here[doc_id][number] for number in sorted(here[doc_id])]
        if document.fields:
            found = tag_fields(whole, document.fields, schema)
            tagged |= {(doc_id, page.number): page for page in found.pages}
            letters += [_letter(document, field) for field in found.missing if (doc_id, whole[0].number) in asked]
    return [tagged.get((page.doc_id, page.number), page) for page in pages], letters


def documents_of(folders: Sequence[str], chosen: pc.Expression) -> Iterator[Document]:
    """The `chosen` documents from the folder `documents` beside each PAGES folder.

    Raises:
        SchemaError: when there is none.
    """
    for folder in folders:
        for table in shards.scan(sources.join(folder.rstrip("/").rpartition("/")[0], "documents"), DOCUMENTS, filter=chosen):
            yield from codec.documents_of(table)


def _letter(document: Document, field: Field) -> DeadLetter:
    message = f"`{field.name}` should be {field.value!r:.200}, which stands on none of the pages that could be read"
    error = DocumentError(Reason.VALUE_NOT_FOUND, message, stage="encode")
    return DeadLetter.of(error, source=document.source, doc_id=document.doc_id)


def _pages(folders: Sequence[str], doc_ids: Collection[str]) -> Iterator[Page]:
    if doc_ids:
        for folder in folders:
            for table in shards.scan(folder, PAGES, filter=_of(doc_ids)):
                yield from codec.pages_of(table)


def _of(doc_ids: Collection[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(sorted(doc_ids), pa.string()))
