"""Answers of an extractor as plain data, in the structure of the public JSON."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from layoutray.document import Box, Page, Word


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a page. `polygon`: four corners as eight numbers in pixels, clockwise from the top left."""

    page_number: int
    polygon: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One extracted entity.

    Attributes:
        type: the entity's name, e.g. `total`.
        content: its words as on the page, joined by spaces; of a field's value that is a part of them, that part.
        confidence: 0..1, geometric mean of its words' probabilities; generated text: see `tasks.generate_fields`.
        bounding_regions: one per line of text; of generated text, those of the words that it was copied from.
        words: indices of its words on the page; empty for generated text.
        reading_confidence: 0..1, of the OCR engine, for the word of which it is lowest; 1 if no engine has stated one.
        sum_of_rows: of a field with `is_sum`: whether its amount is the sum of the rows above it. None for entities of
            other fields, and if the page states no sum.
        near_amount: of a field with `is_sum`: whether the page has another amount that differs from it by less than
            0.05, as before and after a rounding.
        form_field: full name of the form field of a fillable PDF file that states it; None if a model has found it.
        drawn: what the page shows in the box of this form field, if that is another value; empty if it shows nothing.
    """

    type: str
    content: str
    confidence: float
    bounding_regions: tuple[Region, ...]
    words: tuple[int, ...]
    reading_confidence: float = 1.0
    sum_of_rows: bool | None = None
    near_amount: bool = False
    form_field: str | None = None
    drawn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A possible value of a document field that the model does not answer. Attributes as in `Entity`."""

    type: str
    content: str
    confidence: float
    bounding_regions: tuple[Region, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a model has found on a page: its answers, and what else the values of fields may be."""

    entities: tuple[Entity, ...]
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """A piece of a generated line that was copied from the document.

    Attributes:
        end: number of characters of the line up to the end of the piece.
        word: number of the copied word within the document, from 0.
    """

    end: int
    word: int


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a generated text.

    Attributes:
        probability: of the line and its end, given the lines before it.
        copies: its pieces that were copied from the document, in their order; empty if the model cannot copy.
    """

    text: str
    probability: float
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Entities of a document that belong together, for example one line item of a receipt.

    Attributes:
        name: name of the record in the recipe, e.g. `items`.
        page_number: of its first line.
        row: its number among the records of this name in the pages that were read together, from 1 at the top.
        confidence: the lowest of its entities.
        fields: its entities, in the order of the recipe; several of one type from top to bottom.
        adds_up: whether its count times its unit price is its amount; None if it does not state all three.
    """

    name: str
    page_number: int
    row: int
    confidence: float
    fields: tuple[Entity, ...]
    adds_up: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSum:
    """The sum of the records of one name.

    Attributes:
        sum: of their amounts after discounts, with two decimals.
        adds_up: whether the document states this sum, see `layoutray.document.record_sums`; None if there is no amount
            below the records.
    """

    name: str
    sum: str
    adds_up: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAnswer:
    """One value of a field of a document.

    Attributes:
        name: name of the field in the schema.
        value: the normal form, see `layoutray.document.normal_form`; an amount has the two decimals that it is printed
            with.
        content: its words as on the page, in upper case if the field's type says so; of several notations, the one with
            the highest sum of confidences.
        confidence: 0..1, of the value: see `layoutray.tasks.field_answers`.
        score: sum of the confidences of all entities with this value; times a factor if it is a field with
            `is_sum` (see `layoutray.tasks.field_answers`). It can exceed 1.
        bounding_regions: regions of the most confident entity with this content.
        known_value: the known value that the content means, as the owner writes it; None if the field has no known
            values, or the content is near none of them.
        accepted: whether the confidence reaches the field's `accept_from`, so that the value needs no look. A value
            that a form field states is accepted if the page shows it and no form field states another one.
        form_field, drawn: as of an entity.
        reading_confidence: the lowest one of the entities with this value.
        near_amount: whether it is true of an entity with this value.
    """

    name: str
    value: str
    content: str
    confidence: float
    score: float
    bounding_regions: tuple[Region, ...]
    known_value: str | None = None
    accepted: bool = False
    form_field: str | None = None
    drawn: str | None = None
    reading_confidence: float = 1.0
    near_amount: bool = False

    @property
    def reason(self) -> str | None:
        """Why this is the value, if not a model has found it."""
        return None if self.form_field is None else form_reason(self.form_field, self.drawn)


def form_reason(form_field: str, drawn: str | None) -> str:
    """Why a value is that of a form field, and what the page shows; see `Entity`."""
    shown = "" if drawn is None else f", but the page shows {repr(drawn) if drawn else 'nothing'}"
    return f"the form field {form_field!r} of the PDF file states it{shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFields:
    """The fields of one document, from all its pages."""

    doc_id: str
    source: str
    model_id: str
    model_version: str
    fields: tuple[FieldAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """Size of a page in pixels, and its number of words."""

    page_number: int
    width: int
    height: int
    num_words: int
    unit: str = "pixel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a document or one of its pages failed."""

    code: str
    stage: str
    message: str
    retryable: bool
    page_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWarning:
    """Why an answer may be less accurate than the model is on its own pages."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer for one document or page: entities, pages, errors, and the records that the entities form.

    `candidates`: see `Found`.
    """

    doc_id: str
    source: str
    model_id: str
    model_version: str
    status: str
    entities: tuple[Entity, ...]
    pages: tuple[PageAnswer, ...]
    errors: tuple[Problem, ...] = ()
    records: tuple[Record, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[AnswerWarning, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Nested dicts and lists for `json.dumps`."""
        return asdict(self)


def regions_of(page: Page, words: Iterable[Word]) -> tuple[Region, ...]:
    """One region for each line of text that has some of `words`, in the order of their first words."""
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        lines[word.line].append(word)
    return tuple(
        Region(page.number, Box.around(word.box for word in line).polygon(page.width, page.height))
        for line in lines.values()
    )


def reading_confidence(words: Iterable[Word]) -> float:
    """The lowest confidence that the OCR engine has stated for one of `words`; 1 if it has stated none."""
    return min((word.confidence for word in words if word.confidence is not None), default=1.0)
