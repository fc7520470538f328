"""The response to a document, from what OCR and model have found on its pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.document import Page
from layoutray.document.answers import Candidate, Problem
from layoutray.document.signals import Observed
from layoutray.document.word_source import other_words, word_sources
from layoutray.inference.generation import Text
from layoutray.inference.selection import Selection
from layoutray.serving import failures, schema
from layoutray.serving.model import ModelDescription
from layoutray.serving.outcome import Outcome
from layoutray.serving.submission import UploadedFile, WordPages
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields
from layoutray.tasks.record_columns import with_columns
from layoutray.tasks.records import find_records, record_sums


def problems_of(outcomes: Sequence[Outcome]) -> list[Problem]:
    """The problems of failed pages. Raises ApiError (that of the first page) when all pages failed."""
    problems = [outcome.problem for outcome in outcomes if outcome.problem]
    if len(problems) == len(outcomes):
        raise failures.error_of(problems[0])
    return problems


def pages_of(outcomes: Sequence[Outcome]) -> list[Page]:
    """The pages that were read."""
    return [outcome.page for outcome in outcomes if outcome.page]


@dataclass(frozen=True, slots=True)
class Written:
    """What a model has written about a document, and the words that it kept if they were asked for."""

    text: Text
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """The answer to one document.

    Attributes:
        document: as it was sent.
        response: without the words of its pages.
        pages: those that were read, with their words.
        candidates: what else the values of fields may be; the response does not have them.
    """

    document: UploadedFile | WordPages
    response: schema.Response
    pages: Sequence[Page]
    candidates: Sequence[Candidate] = ()

    def with_words(self) -> schema.Response:
        """The response with the words of its pages; a summary has none."""
        if isinstance(self.response, schema.SummarizeResponse):
            return self.response
        return self.response.model_copy(update={"pages": [_page_response(page, words=True) for page in self.pages]})


def answered(
    document: UploadedFile | WordPages,
    model: ModelDescription,
    outcomes: Sequence[Outcome],
    written: Written | None,
    seconds: float,
) -> DocumentAnswer:
    """The answer of `model` to a document: its summary, or its entities, fields and records.

    Args:
        outcomes: of its pages, in order, and of the text generation, if there was one.
        written: by a model that writes; None for another one.
        seconds: from the request to now.

    Raises:
        ApiError: as `problems_of`.
    """
    problems, pages = problems_of(outcomes), pages_of(outcomes)

    def milliseconds(of_one: float) -> float:
        return round(of_one * 1000, 1)

    timings = schema.Timings(
        ocr_ms=milliseconds(sum(outcome.ocr for outcome in outcomes)),
        model_ms=milliseconds(sum(outcome.model for outcome in outcomes)),
        queue_ms=milliseconds(sum(outcome.queue for outcome in outcomes)),
        total_ms=milliseconds(seconds),
    )
    shared: dict[str, Any] = {
        "model_id": model.model_id,
        "model_version": model.model_version,
        "status": "partial_success" if problems else "success",
        "doc_id": document.doc_id,
        "pages": [_page_response(page) for page in pages],
        "errors": problems,
        "timings": timings,
        "warnings": other_words(word_sources(pages), model.learnt) or None,
    }
    text = written.text if written else None
    cut = text.tokens_read < text.tokens if text else None
    if written and model.path == "/v1/summarize":
        explained = written.selection and _explanation(written.selection, pages)
        summary = schema.SummaryResponse(
            text=written.text.text, tokens=written.text.tokens, tokens_read=written.text.tokens_read, cut=bool(cut)
        )
        response = schema.SummarizeResponse(summary=summary, explanation=explained, **shared)
        return DocumentAnswer(document, response, pages)
    of_pages = with_columns(pages, [outcome.entities for outcome in outcomes if outcome.page], model.records)
    entities = [entity for on_page in of_pages for entity in on_page]
    records = find_records(pages, of_pages, model.records)
    found: dict[str, Any] = {
        "entities": entities,
        "fields": written_fields(text.lines, pages, model.fields) if text else field_answers(entities, model.fields),
        "records": records,
        "sums": record_sums(pages, records, model.records),
        "cut": cut,
    }
    response = schema.ExtractResponse(document=schema.DocumentResponse(**found), **shared)
    return DocumentAnswer(document, response, pages, [one for outcome in outcomes for one in outcome.candidates])


def observed(answered: DocumentAnswer, model: ModelDescription) -> Observed:
    """What an answered document shows. Values of fields that requests name are left out: no two ask for the same."""
    found = answered.response.document if isinstance(answered.response, schema.ExtractResponse) else None
    if found is None or model.by_name:
        return Observed.of(answered.pages, [])
    entities = [(one.type, one.confidence) for one in found.entities]
    return Observed.of(answered.pages, [(one.name, one.confidence) for one in found.fields] or entities)


def answer_of_page(number: int, model: ModelDescription, outcome: Outcome) -> dict[str, Any] | None:
    """What is known of a page before the others are answered: entities and records, or why it failed. Plain data.

    As in the answer of the document, keys without a value are left out.
    None for a model that writes: it reads all pages together. Fields need all pages, too.
    """
    if outcome.problem:
        return {"page_number": number, "error": schema.ProblemResponse.model_validate(outcome.problem).model_dump()}
    if outcome.page is None or model.writes:
        return None
    of_page = with_columns([outcome.page], [outcome.entities], model.records)
    records = find_records([outcome.page], of_page, model.records)
    found: dict[str, Any] = {"entities": of_page[0], "fields": [], "records": records}
    shown = schema.DocumentResponse(**found).model_dump(exclude_none=True, include={"entities", "records"})
    return {"page_number": number, **shown}


def _explanation(selection: Selection, pages: Sequence[Page]) -> schema.ExplanationResponse:
    """The words of the selection, with their places on the pages."""
    positions = [(page, index) for page in pages for index in range(len(page.words))]
    words: list[schema.SelectedWordResponse] = []
    for selected in selection.words:
        page, index = positions[selected.number]
        word = page.words[index]
        words.append(
            schema.SelectedWordResponse(
                content=word.text,
                page_number=page.number,
                word=index,
                polygon=list(word.box.polygon(page.width, page.height)),
                states=selected.states,
                weight=selected.weight,
            )
        )
    return schema.ExplanationResponse(kept_states=selection.kept, words=words)


def _page_response(page: Page, *, words: bool = False) -> schema.PageResponse:
    size = page.width, page.height
    shown = [
        schema.WordResponse(content=word.text, polygon=list(word.box.polygon(*size)), confidence=word.confidence)
        for word in page.words
        if words
    ]
    return schema.PageResponse(
        page_number=page.number,
        width=page.width,
        height=page.height,
        num_words=len(page.words),
        words=shown if words else None,
    )
