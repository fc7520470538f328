"""Request and response bodies; the OpenAPI document is made from them."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

SCHEMA_VERSION = "1.6"
"""Version of the response schemas. The first number changes when an existing client could break."""

ServedPath = Literal["/v1/extract", "/v1/summarize"]
"""Path at which a model is served."""
TriedOn = Literal["its own example", "a generated page"]
"""What a model answered before it was served."""
RefusalCode = Literal["broken", "foreign", "too_large", "no_room"]
Confidence = Annotated[float, Field(ge=0, le=1)]
Polygon = Annotated[
    list[float],
    Field(min_length=8, max_length=8, description="x and y of four corners in pixels, clockwise from the top left"),
]


class Body(BaseModel):
    """The body of a request or response, or a part of one."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _no_conversion(value: object) -> object:
    if isinstance(value, bool | str):
        raise PydanticCustomError("number_type", "give a number")
    return value


_NumberOnly = BeforeValidator(_no_conversion)
"""Refuses texts and truth values, which pydantic would convert to numbers."""
_Pixels = Annotated[int, _NumberOnly, Field(gt=0, le=1_000_000, description="pixels")]
_Coordinate = Annotated[float, _NumberOnly]


class WordInput(Body):
    """A word from the client's OCR."""

    text: str = Field(min_length=1, examples=["TOTAL"])
    box: tuple[_Coordinate, _Coordinate, _Coordinate, _Coordinate] = Field(
        description="x0, y0, x1, y1 in pixels of the page", examples=[[40, 610, 118, 634]]
    )


class PageInput(Body):
    """A page with words from the client's OCR, in reading order."""

    width: _Pixels = Field(examples=[800])
    height: _Pixels = Field(examples=[1130])
    words: list[WordInput] = Field(fail_fast=True)


class ExtractRequest(Body):
    """Pages with words, for clients with their own OCR."""

    pages: list[PageInput] = Field(min_length=1, fail_fast=True)


class SummarizeRequest(Body):
    """Pages with words, for clients with their own OCR, or plain text."""

    pages: list[PageInput] | None = Field(default=None, min_length=1, fail_fast=True)
    text: str | None = Field(
        default=None,
        description="plain text, one paragraph per line",
        examples=["We read documents.\nThen we summarise them."],
    )

    @model_validator(mode="after")
    def _check_pages_or_text(self) -> Self:
        if (self.pages is None) == (self.text is None):
            raise PydanticCustomError("pages_or_text", "give either pages or text")
        return self


_FORM_FIELD = "name of the form field of a fillable PDF file that states it; left out if a model has found it"
_DRAWN = "what the page shows in the form field, if that is another value; left out if it is the same"


class RegionResponse(Body):
    """A region of a page."""

    page_number: int = Field(ge=1)
    polygon: Polygon


class EntityResponse(Body):
    """An extracted entity."""

    type: str
    content: str = Field(description="its words as on the page, joined by spaces")
    confidence: Confidence
    bounding_regions: list[RegionResponse] = Field(description="one region for each line of text")
    words: list[int] = Field(description="indices of its words on the page, from 0")
    reading_confidence: Confidence = Field(
        description="confidence of the OCR engine for the word of which it is lowest; 1 for words without one"
    )
    sum_of_rows: bool | None = Field(
        default=None,
        description="of a field with `is_sum`: whether the amount is the sum of the rows above it; left out for "
        "other entities, and if the page states no sum",
    )
    near_amount: bool = Field(
        default=False,
        description="of a field with `is_sum`: whether another amount of the page differs from it by less than 0.05",
    )
    form_field: str | None = Field(default=None, description=_FORM_FIELD)
    drawn: str | None = Field(default=None, description=_DRAWN)


class FieldResponse(Body):
    """A value of a field of the document."""

    name: str
    value: str = Field(
        description="in one notation: dates as in ISO 8601, amounts as plain numbers", examples=["2021-03-04"]
    )
    content: str = Field(
        description="the words of the most confident occurrence, joined by spaces", examples=["4 March 2021"]
    )
    confidence: Confidence = Field(
        description="of the value: from the confidences of its occurrences and of their letters, and from other values "
        "of the same field; of a generated value, the probability of its line"
    )
    score: float = Field(
        ge=0,
        description="sum of the confidences of all occurrences, for a field with `is_sum` times 5 or 1/5; can exceed 1",
    )
    bounding_regions: list[RegionResponse] = Field(
        description="regions of the most confident occurrence, one for each line of text; of a generated value, those "
        "of the words that it was copied from; empty if it was not copied"
    )
    known_value: str | None = Field(
        default=None, description="the value of the owner's list that the content means; null if there is none"
    )
    accepted: bool = Field(
        description="whether the confidence reaches the field's threshold, chosen by `layoutray calibrate`; of a form "
        "field, whether the page shows its value and no other form field states another one"
    )
    form_field: str | None = Field(default=None, description=_FORM_FIELD)
    drawn: str | None = Field(default=None, description=_DRAWN)
    reason: str | None = Field(default=None, description="why this is the value, if not a model has found it")


class RecordResponse(Body):
    """Entities that belong together, for example a line item."""

    name: str
    page_number: int = Field(ge=1, description="of its first line")
    row: int = Field(ge=1, description="its number among the records of this name in the document, from the top")
    confidence: Confidence = Field(description="the lowest confidence of its fields")
    fields: list[EntityResponse] = Field(description="its entities, in the order of the recipe")
    adds_up: bool | None = Field(
        default=None, description="whether its amount is its count times its unit price; left out if it lacks one"
    )


class RecordSumResponse(Body):
    """The sum of the records of one name."""

    name: str
    sum: str = Field(description="of their amounts after discounts", examples=["1234.50"])
    adds_up: bool | None = Field(
        default=None, description="whether the document states this sum; left out if no amount is below the records"
    )


class DocumentResponse(Body):
    """Entities, fields and records of the document."""

    entities: list[EntityResponse]
    fields: list[FieldResponse] = Field(description="empty for a model without fields")
    records: list[RecordResponse] = Field(default=[], description="empty for a model without records")
    sums: list[RecordSumResponse] = Field(
        default=[], description="empty for a model whose records do not name their amounts"
    )
    cut: bool | None = Field(
        default=None,
        description="only for a model that generates fields: whether the document was longer than the model reads",
    )


class WordResponse(Body):
    """A word of a page."""

    content: str
    polygon: Polygon
    confidence: Confidence | None = Field(
        default=None, description="confidence of the OCR engine; absent for words from the client"
    )


class PageResponse(Body):
    """A page of the document."""

    page_number: int = Field(ge=1)
    width: int
    height: int
    unit: Literal["pixel"] = "pixel"
    num_words: int
    words: list[WordResponse] | None = Field(default=None, description="only with ?words=true")


class ProblemResponse(Body):
    """Why one page failed; the other pages are answered."""

    code: str
    stage: str
    message: str
    retryable: bool
    page_number: int = Field(ge=1)


class WarningResponse(Body):
    """Why the answer may be less accurate than the model is on its own pages."""

    code: Literal["other_words"] = Field(
        description="`other_words`: the words were made in another way than those of which the model has learnt"
    )
    message: str


class Timings(Body):
    """Times in milliseconds. Pages are processed in parallel, so sums over pages can exceed the total."""

    ocr_ms: float = Field(description="OCR, summed over pages")
    model_ms: float = Field(description="the pages' shares of model batches, summed")
    queue_ms: float = Field(description="waiting for a replica and a batch, transport included, summed over pages")
    total_ms: float = Field(description="from the first byte of the request to the response")


class PartResponse(Body):
    """A document of a packet, answered by the model of its kind."""

    kind: str
    pages: list[int] = Field(description="numbers of its pages in the packet, without blank ones", examples=[[4, 5, 6]])
    confidence: Confidence = Field(description="that exactly these pages are a document of this kind")
    begin_confidence: Confidence = Field(description="that a document begins at its first page")
    model_id: str | None = Field(default=None, description="null if no model answers this kind")
    model_version: str | None = None
    document: DocumentResponse | None = Field(default=None, description="page numbers are those of the packet")
    error: "ErrorDetail | None" = Field(default=None, description="why the model of its kind has not answered")


class OtherPageResponse(Body):
    """A page of a packet that is in no document."""

    page_number: int = Field(ge=1)
    role: Literal["blank", "separator"]


class PacketResponse(Body):
    """What a packet holds."""

    documents: list[PartResponse] = Field(description="in the order of their pages")
    other_pages: list[OtherPageResponse]


class ExtractResponse(Body):
    """The answer for one document."""

    model_id: str
    model_version: str
    schema_version: str = SCHEMA_VERSION
    status: Literal["success", "partial_success"]
    doc_id: str = Field(description="SHA-256 of the uploaded file, or of the JSON body")
    document: DocumentResponse
    packet: PacketResponse | None = Field(default=None, description="only of a model of pages (task page_labels)")
    pages: list[PageResponse]
    errors: list[ProblemResponse]
    warnings: list[WarningResponse] | None = Field(default=None, description="left out if there is none")
    timings: Timings


class SummaryResponse(Body):
    """The summary of the document."""

    text: str = Field(description="empty for a document without words")
    tokens: int = Field(ge=0, description="tokens of the document")
    tokens_read: int = Field(ge=0, description="tokens that the model read, from the beginning")
    cut: bool = Field(description="whether the document was longer than the model reads")


class SelectedWordResponse(Body):
    """A word with the largest weight in one or more pooled states."""

    content: str
    page_number: int = Field(ge=1)
    word: int = Field(ge=0, description="its index on the page, from 0")
    polygon: Polygon
    states: int = Field(ge=1, description="number of pooled states in which it has the largest weight")
    weight: float = Field(gt=0, description="sum of its weights in these states; at most their number")


class ExplanationResponse(Body):
    """The words behind the pooled states of the document. Attention mixes words too, which this does not show."""

    kept_states: int = Field(ge=0, description="number of states left after pooling")
    words: list[SelectedWordResponse] = Field(description="in document order")


class SummarizeResponse(Body):
    """The answer for one document."""

    model_id: str
    model_version: str
    schema_version: str = SCHEMA_VERSION
    status: Literal["success", "partial_success"] = Field(
        description="partial when pages failed; the summary does not cover them"
    )
    doc_id: str = Field(description="SHA-256 of the uploaded file, or of the JSON body")
    summary: SummaryResponse
    explanation: ExplanationResponse | None = Field(default=None, description="only with ?explain=true")
    pages: list[PageResponse] = Field(description="pages that were read, in order; a plain text is laid out on pages")
    errors: list[ProblemResponse]
    warnings: list[WarningResponse] | None = Field(default=None, description="left out if there is none")
    timings: Timings


Response = ExtractResponse | SummarizeResponse
"""The answer for one document."""


class ErrorDetail(Body):
    """Why the request failed."""

    code: str = Field(examples=["too_large"])
    message: str = Field(description="what was wrong, the value, what is allowed")
    retryable: bool = Field(description="whether the same request may succeed later")


class ErrorResponse(Body):
    """The body of every error response."""

    error: ErrorDetail
