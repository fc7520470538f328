"""Summarisation: write what a person might have written about a whole document."""

from collections.abc import Mapping

from layoutray.document import SUMMARY, Document
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.tasks.writer import Writer


class Summary(Writer):
    """See the module's docstring. Of several summaries of a document the first is learned."""

    name = "summary"

    def text(self, document: Document, fields: Mapping[str, FieldType]) -> str:
        given = summaries_of(document)
        if not given:
            raise DocumentError(
                Reason.BAD_ANNOTATION,
                f"{document.source} has no summary; this task needs a set that has them",
                stage="encode",
            )
        return given[0]


def summaries_of(document: Document) -> list[str]:
    """All summaries of a document."""
    return [field.value for field in document.fields if field.name == SUMMARY]


TASK = Summary()
