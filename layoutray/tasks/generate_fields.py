"""Fields by text generation: the model reads a whole document and generates a line `name: value` for each value.

Training needs no places of values, and the model can answer a value that does not occur on the page word for word. A
generated value has the place of the words that it was copied from, and none if its decoder does not copy. The
confidence of a field is the probability of its whole line under the model, its end included, given the lines before it.
For a long value it is lower than the confidence of a tagging model, which is a geometric mean over words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from layoutray.document import Document, Field, Page, Word
from layoutray.document.answers import Entity, FieldAnswer, TextLine, reading_confidence, regions_of
from layoutray.document.field_lines import check_names, page_text_of, parse, to_lines
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import form_entities
from layoutray.document.normal_form import contradictory
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.tasks import WritesTexts
from layoutray.tasks.field_answers import check_fields, field_answers
from layoutray.tasks.known_values import with_known_values
from layoutray.tasks.text_generation import TextGeneration


@dataclass(frozen=True)
class GenerateFields(TextGeneration):
    """See the module's docstring. `fields`: those to generate, by name; at least one."""

    name: str = "generate_fields"
    fields: dict[str, FieldType] = field(default_factory=dict[str, FieldType])

    def __post_init__(self) -> None:
        check_fields(self.fields)
        object.__setattr__(self, "fields", with_known_values(self.fields))
        if not self.fields:
            raise InputError(
                f"task.fields is missing: name the fields that {self.name} generates, "
                "for example total = { type = 'amount' }"
            )
        try:
            check_names(self.fields)
        except InputError as error:
            raise InputError(f"task.fields: {error}") from error

    def text(self, document: Document) -> str:
        """The values of `fields` in their order, each value once; empty when the document has only other fields.

        Raises:
            DocumentError: if the document has no fields, or values of one field contradict each other.
        """
        if not document.fields:
            raise DocumentError(
                Reason.BAD_ANNOTATION,
                f"{document.source} has no fields; task {self.name} needs a data set with fields of documents",
                stage="encode",
            )
        if unusable := contradictory(document.fields, self.fields):
            names = ", ".join(dict.fromkeys(field.name for field in unusable))
            raise DocumentError(
                Reason.CONTRADICTORY,
                f"{document.source} has several values of {names}, which may have one; correct the values, or set "
                "`many = true`",
                stage="encode",
            )
        values: dict[Field, None] = dict.fromkeys(document.fields)
        return to_lines(value for name in self.fields for value in values if value.name == name)


def written_fields(
    lines: Iterable[TextLine], pages: Sequence[Page], schema: Mapping[str, FieldType]
) -> tuple[FieldAnswer, ...]:
    """The values of fields in a generated text, in the order of `schema`, see `field_answers`.

    The content of a value is the words that it was copied from, if they state it; otherwise the document's first words
    that match it, or the generated text when no words do. Its regions are those of the words that it was copied from.

    Args:
        pages: of the document, in order.
    """
    words = [(page, word) for page in pages for word in page.words]
    stated = [entity for page in pages for entity in form_entities(page, schema)]
    written = [_entity(value, line, words) for line in lines for value in parse(line.text, schema)]
    return field_answers(stated + written, schema)


def _entity(value: Field, line: TextLine, words: Sequence[tuple[Page, Word]]) -> Entity:
    begin = line.text.index(":") + 1
    copied = [words[number] for number in dict.fromkeys(copy.word for copy in line.copies if copy.end > begin)]
    whole = page_text_of(value.value, [word.text for _, word in copied])
    content = whole if whole != value.value else page_text_of(value.value, [word.text for _, word in words])
    on_page: dict[int, tuple[Page, list[Word]]] = {}
    for page, word in copied:
        on_page.setdefault(page.number, (page, []))[1].append(word)
    regions = tuple(region for page, found in on_page.values() for region in regions_of(page, found))
    return Entity(
        type=value.name,
        content=content,
        confidence=line.probability,
        bounding_regions=regions,
        words=(),
        reading_confidence=reading_confidence(word for _, word in copied),
    )


TASK: type[WritesTexts] = GenerateFields
