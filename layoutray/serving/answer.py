"""The response to a document, from what OCR and model have found on its pages."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from layoutray.document import Page
from layoutray.document.answers import Entity, FieldAnswer, Problem, Record
from layoutray.inference.generation import Text
from layoutray.inference.selection import SelectedWord, Selection
from layoutray.serving import failures, schema
from layoutray.serving.model import ModelDescription
from layoutray.serving.outcome import Outcome
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields
from layoutray.tasks.records import find_records


def problems_of(outcomes: Sequence[Outcome]) -> list[Problem]:
    """The problems of failed pages. Raises ApiError (that of the first page) when all pages failed."""
    problems = [outcome.problem for outcome in outcomes if outcome.problem]
    if len(problems) == len(outcomes):
        raise failures.error_of_problem(problems[0])
    return problems


def pages_of(outcomes: Sequence[Outcome]) -> list[Page]:
    """The pages that were read."""
    return [outcome.page for outcome in outcomes if outcome.page]


def extracted(
    doc_id: str, model: ModelDescription, outcomes: Sequence[Outcome], text: Text | None, seconds: float
) -> schema.ExtractResponse:
    """The entities, fields and records of a document. Words of the pages are for `with_words`.

    Args:
        text: what a model that writes has generated; None for another one.
        seconds: from the request to now.

    Raises:
        ApiError: as `problems_of`.
    """
    problems, pages = problems_of(outcomes), pages_of(outcomes)
    entities = [entity for outcome in outcomes for entity in outcome.entities]
    fields = written_fields(text.lines, pages, model.fields) if text else field_answers(entities, model.fields)
    return schema.ExtractResponse(
        model_id=model.model_id,
        model_version=model.model_version,
        status="partial_success" if problems else "success",
        doc_id=doc_id,
        document=schema.DocumentResponse(
            entities=[_entity_response(entity) for entity in entities],
            fields=[_field_response(field) for field in fields],
            records=[
                _record_response(record)
                for outcome in outcomes
                if outcome.page
                for record in find_records(outcome.page, outcome.entities, model.records)
            ],
            cut=text.tokens_read < text.tokens if text else None,
        ),
        pages=[_page_response(page, None) for page in pages],
        errors=[schema.ProblemResponse(**asdict(problem)) for problem in problems],
        timings=_timings(outcomes, seconds),
    )


def with_words(answer: schema.ExtractResponse, pages: Sequence[Page]) -> schema.ExtractResponse:
    """The same answer with all words of `pages`, which are its pages."""
    return answer.model_copy(update={"pages": [_page_response(page, _words(page)) for page in pages]})


def answer_of_page(number: int, model: ModelDescription, outcome: Outcome) -> dict[str, Any] | None:
    """What is known of a page before the others are answered: entities and records, or why it failed. Plain data.

    As in the answer of the document, keys without a value are left out.
    None for a model that writes: it reads all pages together. Fields need all pages, too.
    """
    if outcome.problem:
        return {"page_number": number, "error": schema.ProblemResponse(**asdict(outcome.problem)).model_dump()}
    if outcome.page is None or model.writes:
        return None
    entities = [_entity_response(entity) for entity in outcome.entities]
    records = [_record_response(record) for record in find_records(outcome.page, outcome.entities, model.records)]
    return {
        "page_number": number,
        "entities": [entity.model_dump(exclude_none=True) for entity in entities],
        "records": [record.model_dump(exclude_none=True) for record in records],
    }


def summarized(
    doc_id: str,
    model: ModelDescription,
    outcomes: Sequence[Outcome],
    text: Text,
    explained: schema.ExplanationResponse | None,
    seconds: float,
) -> schema.SummarizeResponse:
    """The summary of a document, `text`. Raises ApiError as `problems_of`.

    Args:
        seconds: from the request to now.
    """
    problems = problems_of(outcomes)
    return schema.SummarizeResponse(
        model_id=model.model_id,
        model_version=model.model_version,
        status="partial_success" if problems else "success",
        doc_id=doc_id,
        summary=schema.SummaryResponse(
            text=text.text, tokens=text.tokens, tokens_read=text.tokens_read, cut=text.tokens_read < text.tokens
        ),
        explanation=explained,
        pages=[_page_response(page, None) for page in pages_of(outcomes)],
        errors=[schema.ProblemResponse(**asdict(problem)) for problem in problems],
        timings=_timings(outcomes, seconds),
    )


def explanation(selection: Selection, pages: Sequence[Page]) -> schema.ExplanationResponse:
    """The words of the selection, with their places on the pages."""
    positions = [(page, index) for page in pages for index in range(len(page.words))]
    return schema.ExplanationResponse(
        kept_states=selection.kept, words=[_selected_word(word, *positions[word.number]) for word in selection.words]
    )


def _entity_response(entity: Entity) -> schema.EntityResponse:
    return schema.EntityResponse.model_validate(entity, from_attributes=True)


def _field_response(field: FieldAnswer) -> schema.FieldResponse:
    return schema.FieldResponse.model_validate(field, from_attributes=True)


def _record_response(record: Record) -> schema.RecordResponse:
    return schema.RecordResponse.model_validate(record, from_attributes=True)


def _page_response(page: Page, words: list[schema.WordResponse] | None) -> schema.PageResponse:
    return schema.PageResponse(
        page_number=page.number, width=page.width, height=page.height, num_words=len(page.words), words=words
    )


def _words(page: Page) -> list[schema.WordResponse]:
    return [
        schema.WordResponse(
            content=word.text, polygon=list(word.box.polygon(page.width, page.height)), confidence=word.confidence
        )
        for word in page.words
    ]


def _selected_word(selected: SelectedWord, page: Page, index: int) -> schema.SelectedWordResponse:
    word = page.words[index]
    return schema.SelectedWordResponse(
        content=word.text,
        page_number=page.number,
        word=index,
        polygon=list(word.box.polygon(page.width, page.height)),
        states=selected.states,
        weight=selected.weight,
    )


def _timings(outcomes: Sequence[Outcome], total: float) -> schema.Timings:
    def milliseconds(seconds: float) -> float:
        return round(seconds * 1000, 1)

    return schema.Timings(
        ocr_ms=milliseconds(sum(outcome.ocr for outcome in outcomes)),
        model_ms=milliseconds(sum(outcome.model for outcome in outcomes)),
        queue_ms=milliseconds(sum(outcome.queue for outcome in outcomes)),
        total_ms=milliseconds(total),
    )
