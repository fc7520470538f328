"""Summarisation: generate the summary of a whole document."""

from dataclasses import dataclass

from layoutray.document import SUMMARY, Document
from layoutray.errors import DocumentError, Reason
from layoutray.tasks import WritesTexts
from layoutray.tasks.text_generation import TextGeneration


@dataclass(frozen=True)
class Summary(TextGeneration):
    """See the module's docstring. If a document has several summaries, the first is learned."""

    name: str = "summary"

    def text(self, document: Document) -> str:
        summaries = summaries_of(document)
        if not summaries:
            raise DocumentError(
                Reason.BAD_ANNOTATION,
                f"{document.source} has no summary; task {self.name} needs a data set with summaries",
                stage="encode",
            )
        return summaries[0]


def summaries_of(document: Document) -> list[str]:
    """All summaries of a document."""
    return [field.value for field in document.fields if field.name == SUMMARY]


TASK: type[WritesTexts] = Summary
