"""Tag pages with the expected field values of their documents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray.document import Document, Page
from layoutray.document.field_type import FieldType
from layoutray.document.packets import page_tag, parts_of
from layoutray.document.tags import UNKNOWN
from layoutray.errors import DocumentError, InputError, Reason, as_document_error
from layoutray.prepare.tag_fields import tag_fields
from layoutray.prepare.whole_documents import has_id, read_documents, whole_documents
from layoutray.store import shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter


@dataclass(frozen=True, slots=True)
class TaggedPages:
    """Pages with the tags of their documents' fields.

    Attributes:
        pages: in the order of the call.
        letters: one without a page for each expected value that occurs on no page of its document, or that contradicts
            another one. A letter is reported with the first page of its document only.
        failures: errors by the id of documents that could not be tagged. Their pages have no valid tags.
    """

    pages: Sequence[Page]
    letters: Sequence[DeadLetter]
    failures: Mapping[str, DocumentError]


def tagged_pages(pages: Sequence[Page], data_sets: Sequence[DataSet], schema: Mapping[str, FieldType]) -> TaggedPages:
    """`pages` with IOB2 tags of their documents' fields. Pages of documents without fields have no tags.

    A document is tagged as a whole, so the tags of a page do not depend on the other pages of the batch.

    Args:
        data_sets: where the documents and their other pages are.
    """
    tagged: dict[tuple[str, int], Page] = {}
    letters: list[DeadLetter] = []
    failures: dict[str, DocumentError] = {}
    requested = {(page.doc_id, page.number) for page in pages}
    for document, document_pages in whole_documents(data_sets, {page.doc_id for page in pages}, pages):
        if not document.fields:
            continue
        try:
            result = tag_fields(document_pages, document.fields, schema)
        except Exception as error:
            failures[document.doc_id] = as_document_error(error, "encode")
            continue
        tagged |= {(page.doc_id, page.number): page for page in result.pages}
        if (document.doc_id, document_pages[0].number) in requested:
            for field in result.missing:
                stated = f"`{field.name}` is expected to be {field.value!r:.200}"
                message = f"{stated}, which occurs on none of the readable pages"
                letters.append(document_letter(document, Reason.VALUE_NOT_FOUND, message))
            for field in result.contradictory:
                stated = f"`{field.name}` has the value {field.value!r:.200} and others, but may have one in a document"
                message = f"{stated}; correct the values, or set `many = true`"
                letters.append(document_letter(document, Reason.CONTRADICTORY, message))
    return TaggedPages([tagged.get((page.doc_id, page.number), page) for page in pages], letters, failures)


def labelled_pages(pages: Sequence[Page], data_sets: Sequence[DataSet]) -> list[Page]:
    """`pages`, whose words have the tag of their page in the documents of its packet (`document.packets.page_tag`).

    Pages between the documents of a packet have the tag `?`; those of files without stated documents have none.
    """
    documents = read_documents(data_sets, has_id({page.doc_id for page in pages}))
    parts = {document.doc_id: parts_of(document) for document in documents}
    labelled: list[Page] = []
    for page in pages:
        of_file = parts.get(page.doc_id)
        tag = (page_tag(of_file, page.number) or UNKNOWN) if of_file else None
        labelled.append(replace(page, words=tuple(replace(word, tag=tag) for word in page.words)))
    return labelled


def count_values(data_sets: Sequence[DataSet], schema: Mapping[str, FieldType]) -> int:
    """Number of expected values of the fields in `schema`, in all documents.

    Raises:
        InputError: if no document has a value of a field, for example because its name is misspelt.
    """
    counts = Counter(field.name for document in read_documents(data_sets) for field in dict.fromkeys(document.fields))
    if unknown := [name for name in schema if name not in counts]:
        raise InputError(
            f"task.fields contains {', '.join(unknown)}, but no document has a value of that name; "
            f"the names are {', '.join(sorted(counts)) or 'none (no document has values)'}; "
            "correct the name, or remove the field"
        )
    return sum(counts[name] for name in schema)


def count_partial(data_sets: Sequence[DataSet], schema: Mapping[str, FieldType]) -> tuple[int, int]:
    """Number of documents that are known in part, and of their values. A set of tagged pages may have no documents.

    Args:
        schema: the fields whose values are counted; empty for all.
    """
    with_documents = [one for one in data_sets if shards.shards(one.documents)]
    documents = [one for one in read_documents(with_documents) if one.partial]
    known = [value for one in documents for value in one.fields if not schema or value.name in schema]
    return len(documents), len(known)


def document_letter(document: Document, reason: Reason, message: str) -> DeadLetter:
    """A dead letter of encoding that is about a document, not about a page."""
    error = DocumentError(reason, message, stage="encode")
    return DeadLetter.of(error, source=document.source, doc_id=document.doc_id)
