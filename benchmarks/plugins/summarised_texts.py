"""Shared by the readers of plain texts with summaries: a text and its summaries as a document."""

from collections.abc import Iterable

from layoutray.document import SUMMARY, Field
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import malformed
from layoutray.readers.texts import typeset_pages


def text_truth(reference: DocumentRef, doc_id: str, text: str, summaries: Iterable[str]) -> Truth:
    """A text and its summaries as a document.

    Args:
        text: one paragraph per line; lines without words are ignored.
        summaries: reference summaries; empty ones are dropped.

    Raises:
        DocumentError: (bad_annotation) when the text has no words.
    """
    pages = typeset_pages(text, doc_id, reference.source, reference.split)
    if not pages:
        raise malformed(reference.source, "the text has no words")
    stripped = [summary.strip() for summary in summaries]
    fields = tuple(Field(SUMMARY, summary) for summary in stripped if summary)
    return Truth(
        document=reference.document(doc_id, len(pages), fields), pages=pages, dropped=len(stripped) - len(fields)
    )
