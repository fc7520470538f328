"""Fields by writing: a model reads a whole document and writes its values, a line `name: value` for each.

It needs to be told no places of values, and may write what stands nowhere in so many words; what it writes has no place either. A
field's confidence is the probability of its whole line under the model, the end of the line included, given the lines before it: that of
exactly this statement, and so lower for a long value than the mean over tokens by which tagging models say how sure they are.
"""

from collections.abc import Iterable, Mapping, Sequence

from layoutray.answers import Entity, FieldAnswer
from layoutray.document import Document, Field, Page
from layoutray.document.field_lines import page_text_of, parse, to_lines
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.writer import Writer


class GenerateFields(Writer):
    """See the module's docstring."""

    name = "generate_fields"

    def text(self, document: Document, fields: Mapping[str, FieldType]) -> str:
        """The values of `fields` in their order, each once; empty where the document has values of other fields alone."""
        if not document.fields:
            raise DocumentError(
                Reason.BAD_ANNOTATION,
                f"{document.source} has no fields; this task needs a set that has them",
                stage="encode",
            )
        values: dict[Field, None] = dict.fromkeys(document.fields)
        return to_lines(field for name in fields for field in values if field.name == name)


def written_fields(
    lines: Iterable[tuple[str, float]], pages: Sequence[Page], schema: Mapping[str, FieldType]
) -> tuple[FieldAnswer, ...]:
    """The values of fields that a text states about a document, in the order of `schema`, see `field_answers`.

    Their contents are the words of the document that the model means, or where there are none, what it has written.

    Args:
        lines: of the text, each with its probability.
        pages: of the document, in order.
    """
    words = [word.text for page in pages for word in page.words]
    stated = [(field, chance) for line, chance in lines for field in parse(line, schema)]
    return field_answers(
        [Entity(field.name, page_text_of(field.value, words), chance, (), ()) for field, chance in stated], schema
    )


TASK = GenerateFields()
