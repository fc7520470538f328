"""What goes over the wire, as the OpenAPI document describes it."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

SCHEMA_VERSION = "1.2"
"""Of the answers' shape: the first number grows when a client could break."""

ServedPath = Literal["/v1/extract", "/v1/summarize"]
"""Where a model answers documents."""
Confidence = Annotated[float, Field(ge=0, le=1)]
Polygon = Annotated[
    list[float],
    Field(min_length=8, max_length=8, description="x and y of four corners, clockwise from top left, in pixels"),
]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WordInput(_Wire):
    """A word that the caller has read."""

    text: str = Field(min_length=1, examples=["TOTAL"])
    box: tuple[float, float, float, float] = Field(
        description="x0, y0, x1, y1 in pixels of the page", examples=[[40, 610, 118, 634]]
    )


class PageInput(_Wire):
    """A page whose words the caller has read, in reading order."""

    width: int = Field(gt=0, description="pixels", examples=[800])
    height: int = Field(gt=0, description="pixels", examples=[1130])
    words: list[WordInput]


class ExtractRequest(_Wire):
    """Pages with words, for callers with an OCR of their own."""

    pages: list[PageInput] = Field(min_length=1)


class SummarizeRequest(_Wire):
    """Pages with words, for callers with an OCR of their own, or a text that has no pages."""

    pages: list[PageInput] | None = Field(default=None, min_length=1)
    text: str | None = Field(
        default=None, description="a paragraph in each line", examples=["We read documents.\nThen we sum them up."]
    )

    @model_validator(mode="after")
    def _has_one_of_them(self) -> Self:
        if (self.pages is None) == (self.text is None):
            raise PydanticCustomError("pages_or_text", "it must have either pages or text")
        return self


class RegionAnswer(_Wire):
    """A place on a page."""

    page_number: int = Field(ge=1)
    polygon: Polygon


class EntityAnswer(_Wire):
    """One found entity."""

    type: str
    content: str = Field(description="its words as they stand on the page, joined by blanks")
    confidence: Confidence
    bounding_regions: list[RegionAnswer] = Field(description="one per line that it stands on")
    words: list[int] = Field(description="indices of its words within their page, from 0")


class FieldAnswer(_Wire):
    """One value of a field of the document, whichever of its pages state it."""

    name: str
    value: str = Field(
        description="its normal form, so that values that mean the same are the same text", examples=["2021-03-04"]
    )
    content: str = Field(
        description="its words as they stand where they are surest, joined by blanks", examples=["4 March 2021"]
    )
    confidence: Confidence = Field(
        description="of the place where it is surest, or of the line that a model has written"
    )
    score: float = Field(ge=0, description="confidences of all places that state it, summed up; can be above 1")
    bounding_regions: list[RegionAnswer] = Field(
        description="where it is surest, one per line that it stands on; none of a value that a model has written"
    )


class DocumentAnswer(_Wire):
    """What was found in the document."""

    entities: list[EntityAnswer]
    fields: list[FieldAnswer] = Field(description="empty for a model that looks for no fields of whole documents")
    cut: bool | None = Field(
        default=None,
        description="whether a model that writes fields has read but the beginning of the document; absent with other models",
    )


class WordAnswer(_Wire):
    """A word as it was read."""

    content: str
    polygon: Polygon
    confidence: Confidence | None = Field(
        default=None, description="of the OCR engine; absent where the words did not come from one"
    )


class PageAnswer(_Wire):
    """A page as it was read."""

    page_number: int = Field(ge=1)
    width: int
    height: int
    unit: Literal["pixel"] = "pixel"
    num_words: int
    words: list[WordAnswer] | None = Field(default=None, description="only with ?words=true")


class ProblemAnswer(_Wire):
    """What went wrong with one page; the others are answered all the same."""

    code: str
    stage: str
    message: str
    retryable: bool
    page_number: int = Field(ge=1)


class Timings(_Wire):
    """Milliseconds. Pages are worked on side by side, so the sums over pages can exceed the total."""

    ocr_ms: float = Field(description="reading words, summed over pages")
    model_ms: float = Field(description="the pages' shares of the model's batches, summed")
    queue_ms: float = Field(
        description="waiting for a free replica and for batches, transport included, summed over pages"
    )
    total_ms: float = Field(description="from the first byte of the request to the answer")


class ExtractAnswer(_Wire):
    """The answer to one document."""

    model_id: str
    model_version: str
    schema_version: str = SCHEMA_VERSION
    status: Literal["success", "partial_success"]
    doc_id: str = Field(description="SHA-256 of the uploaded file, or of the JSON body")
    document: DocumentAnswer
    pages: list[PageAnswer]
    errors: list[ProblemAnswer]
    timings: Timings


class SummaryAnswer(_Wire):
    """What was written about the document."""

    text: str = Field(description="empty for a document without words")
    tokens: int = Field(ge=0, description="of the document, counted as the model does")
    tokens_read: int = Field(ge=0, description="of these, from the beginning: the model takes no more at once")
    cut: bool = Field(description="whether that is not all of the document")


class SelectedWordAnswer(_Wire):
    """A word that dominates kept states: none of their other tokens has a greater weight."""

    content: str
    page_number: int = Field(ge=1)
    word: int = Field(ge=0, description="its index within its page")
    polygon: Polygon
    states: int = Field(ge=1, description="how many of the kept states it dominates")
    weight: float = Field(gt=0, description="its weights in these states, summed up; at most their number")


class ExplanationAnswer(_Wire):
    """What the model has kept of the document to write from, as its pooling weighed it; attention has mixed words besides."""

    kept_states: int = Field(ge=0, description="vectors that are left of the tokens that were read")
    words: list[SelectedWordAnswer] = Field(description="in the order of the document")


class SummarizeAnswer(_Wire):
    """The answer to one document."""

    model_id: str
    model_version: str
    schema_version: str = SCHEMA_VERSION
    status: Literal["success", "partial_success"] = Field(
        description="partial where pages could not be read, which the summary leaves out"
    )
    doc_id: str = Field(description="SHA-256 of the uploaded file, or of the JSON body")
    summary: SummaryAnswer
    explanation: ExplanationAnswer | None = Field(default=None, description="only with ?explain=true")
    pages: list[PageAnswer] = Field(description="those that were read, in order; a text is set on some")
    errors: list[ProblemAnswer]
    timings: Timings


class ErrorDetail(_Wire):
    """Why there is no answer."""

    code: str = Field(examples=["too_large"])
    message: str = Field(description="what was wrong, the value, what is allowed")
    retryable: bool = Field(description="whether the same request may succeed later")


class ErrorAnswer(_Wire):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class ModelAnswer(_Wire):
    """A model that answers here."""

    model_id: str
    model_version: str
    path: ServedPath = Field(description="where it answers documents")
    entity_types: list[str] = Field(description="empty for a model that looks for none")


class ModelsAnswer(_Wire):
    """The models that answer here."""

    models: list[ModelAnswer]


class HealthAnswer(_Wire):
    """The endpoint is ready."""

    status: Literal["ok"] = "ok"
