"""Tag pages from what DOCUMENTS, beside them, says should come out of each document."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from layoutray.document import Document, Field, Page
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.tag_fields import tag_fields
from layoutray.prepare.whole_documents import documents_of, whole_documents
from layoutray.store.dead_letter import DeadLetter


def tagged_pages(
    pages: Sequence[Page], folders: Sequence[str], schema: Mapping[str, FieldType]
) -> tuple[list[Page], list[DeadLetter]]:
    """`pages` in their order, each with IOB2 tags of its document's fields; those of documents without fields have no tags.

    A document is tagged as a whole, so that a page has the same tags whichever other pages it comes with. Values that stand on none of
    its pages are told with its first page, as dead letters without a page.

    Args:
        folders: of PAGES, each with the folder `documents` beside it.
    """
    tagged: dict[tuple[str, int], Page] = {}
    letters: list[DeadLetter] = []
    asked = {(page.doc_id, page.number) for page in pages}
    for document, whole in whole_documents(folders, {page.doc_id for page in pages}, pages):
        if document.fields:
            found = tag_fields(whole, document.fields, schema)
            tagged |= {(page.doc_id, page.number): page for page in found.pages}
            letters += [
                _letter(document, field) for field in found.missing if (document.doc_id, whole[0].number) in asked
            ]
    return [tagged.get((page.doc_id, page.number), page) for page in pages], letters


def count_values(folders: Sequence[str], schema: Mapping[str, FieldType]) -> int:
    """How many values of the fields in `schema` the documents beside the PAGES `folders` have.

    Raises:
        InputError: for a field that no document has a value of, as where its name is misspelt.
    """
    counts = Counter(
        field.name for document in documents_of(folders, pc.scalar(True)) for field in dict.fromkeys(document.fields)
    )
    if unknown := [name for name in schema if name not in counts]:
        raise InputError(
            f"task.fields names {', '.join(unknown)}, and no document has a value of that name; "
            f"there are {', '.join(sorted(counts)) or 'no values at all'}; correct the name, or leave the field out"
        )
    return sum(counts[name] for name in schema)


def _letter(document: Document, field: Field) -> DeadLetter:
    message = f"`{field.name}` should be {field.value!r:.200}, which stands on none of the pages that could be read"
    error = DocumentError(Reason.VALUE_NOT_FOUND, message, stage="encode")
    return DeadLetter.of(error, source=document.source, doc_id=document.doc_id)
