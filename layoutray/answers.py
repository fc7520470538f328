"""What an extractor answers: entities with value, confidence, page and place. Plain data, the shape of the public JSON."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Region:
    """A place on a page: `polygon` holds eight numbers, clockwise from top left, in pixels of the page."""

    page_number: int
    polygon: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """One found entity.

    Attributes:
        type: the entity's name, e.g. `total`.
        content: its words as they stand on the page, joined by blanks.
        confidence: 0..1, the geometric mean of its tokens' probabilities; of what a model has written, see `tasks.generate_fields`.
        bounding_regions: one per line of the page that it stands on; none of what a model has written.
        words: indices of its words within the page; likewise.
    """

    type: str
    content: str
    confidence: float
    bounding_regions: tuple[Region, ...]
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One value of a field of a document.

    Attributes:
        name: of the field, as in the schema.
        value: its normal form, see `layoutray.document.normal_form`.
        content: the words of its surest entity as they stand on the page.
        confidence: of its surest entity, 0..1.
        score: the sum of the confidences of all entities with this value, so that it may be above 1.
        bounding_regions: of its surest entity.
    """

    name: str
    value: str
    content: str
    confidence: float
    score: float
    bounding_regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """The fields of one document, from all its pages."""

    doc_id: str
    source: str
    model_id: str
    model_version: str
    fields: tuple[FieldAnswer, ...]


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """A page as it was read, and how many words it had."""

    page_number: int
    width: int
    height: int
    num_words: int
    unit: str = "pixel"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that went wrong with a document or one of its pages; what did work is answered all the same."""

    code: str
    stage: str
    message: str
    retryable: bool
    page_number: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything said about one document."""

    doc_id: str
    source: str
    model_id: str
    model_version: str
    status: str
    entities: tuple[Entity, ...]
    pages: tuple[PageAnswer, ...]
    errors: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Nested plain dicts and lists, ready for `json.dumps`."""
        return asdict(self)
