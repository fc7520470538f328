"""Answer a document: OCR, model, response."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import ray
from ray.exceptions import RayActorError
from ray.serve.exceptions import DeploymentUnavailableError, ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle

from layoutray.answers import Entity, FieldAnswer, Problem
from layoutray.cluster.serving import failures, schema
from layoutray.cluster.serving.failures import ApiError
from layoutray.cluster.serving.page_reader import ReadPage
from layoutray.cluster.serving.replicas import BatchResult, ModelDescription, WriteRequest
from layoutray.cluster.serving.schema import ServedPath
from layoutray.cluster.serving.submission import UploadedFile, WordPages
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.document import Page
from layoutray.generation import NO_SELECTION, Text
from layoutray.selection import SelectedWord, Selection
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields

_REPLICA_DIED = (RayActorError, DeploymentUnavailableError, ReplicaUnavailableError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result for one page, or for the text generation over all pages.

    Attributes:
        page: the page with its words; None when it could not be read, and for text generation.
        problem: why the page failed; None when it did not.
        ocr, model, queue: seconds.
    """

    page: Page | None
    entities: tuple[Entity, ...] = ()
    problem: Problem | None = None
    ocr: float = 0.0
    model: float = 0.0
    queue: float = 0.0


Admit = Callable[[int], Awaitable[None]]
"""Called with the number of pages of a document before they are processed. It may raise ApiError."""
_PageStep = Callable[[Page, float, float], Awaitable[_Outcome]]
"""The step after OCR. Its arguments: the page, the seconds of OCR, and the start time of the page's processing."""


class Service:
    """Answers documents through the handles of the page readers and of the model replicas.

    Args:
        max_pages_in_ocr: pages of one document that may be sent to the readers at once. The others wait here, so that
            a long document does not block single pages of other requests.
    """

    def __init__(
        self, reader: DeploymentHandle, model: DeploymentHandle, *, max_pages_in_ocr: int, telemetry: Telemetry
    ) -> None:
        self._reader = reader
        self._model = model
        self._max_pages_in_ocr = max_pages_in_ocr
        self._telemetry = telemetry
        self._description: ModelDescription | None = None

    async def model(self) -> ModelDescription:
        """The served model. It never changes, so a replica is asked once. Raises ApiError (503) when none answers."""
        return self._description or await self.check_model()

    async def check_model(self) -> ModelDescription:
        """Ask a replica for the served model. Raises ApiError (503) when none answers."""
        description = await _call(self._model.describe.remote(), "model", None)
        if isinstance(description, Problem):
            raise failures.error_of_problem(description)
        self._description = description
        return description

    async def model_at(self, path: ServedPath) -> ModelDescription:
        """The served model. Raises ApiError: 404 when it is served at another path than `path`, else as `model`."""
        model = await self.model()
        if model.path != path:
            message = f"model {model.model_id} is served at {model.path}, not at {path}"
            raise ApiError(404, "not_offered", message, retryable=False)
        return model

    async def extract(
        self, document: UploadedFile | WordPages, model: ModelDescription, admit: Admit
    ) -> schema.ExtractResponse:
        """Entities, fields and words of a document.

        A model that generates fields reads all pages together; pages that failed are left out.

        Raises:
            ApiError: that of `admit`; when all pages failed (the first page's error), or when text generation failed.
        """
        started = time.perf_counter()
        outcomes = await self._outcomes(document, _keep_page if model.writes else self._extract_page, admit)
        problems = self._problems(outcomes)
        entities = [entity for outcome in outcomes for entity in outcome.entities]
        fields, cut = field_answers(entities, model.fields), None
        if model.writes:
            pages = [outcome.page for outcome in outcomes if outcome.page]
            text, _, generation = await self._generate(WriteRequest(pages, explain=False))
            fields, cut = written_fields(text.lines, pages, model.fields), text.tokens_read < text.tokens
            outcomes = [*outcomes, generation]
        return schema.ExtractResponse(
            model_id=model.model_id,
            model_version=model.model_version,
            status="partial_success" if problems else "success",
            doc_id=document.doc_id,
            document=schema.DocumentResponse(
                entities=[_entity_response(entity) for entity in entities],
                fields=[_field_response(field) for field in fields],
                cut=cut,
            ),
            pages=[_page_response(outcome.page) for outcome in outcomes if outcome.page],
            errors=[schema.ProblemResponse(**asdict(problem)) for problem in problems],
            timings=_timings(outcomes, time.perf_counter() - started),
        )

    async def summarize(
        self, document: UploadedFile | WordPages, model: ModelDescription, admit: Admit, *, explain: bool
    ) -> schema.SummarizeResponse:
        """The summary of a document, without the pages that failed.

        Raises:
            ApiError: that of `admit`; when all pages failed (the first page's error), when the model failed, or when
                `explain` is asked of a model that does not pool.
        """
        if explain and not model.explains:
            raise failures.invalid(f"explain: {model.model_id} has no selection of words; {NO_SELECTION}")
        started = time.perf_counter()
        outcomes = await self._outcomes(document, _keep_page, admit)
        problems = self._problems(outcomes)
        pages = [outcome.page for outcome in outcomes if outcome.page]
        text, selection, generation = await self._generate(WriteRequest(pages, explain))
        return schema.SummarizeResponse(
            model_id=model.model_id,
            model_version=model.model_version,
            status="partial_success" if problems else "success",
            doc_id=document.doc_id,
            summary=schema.SummaryResponse(
                text=text.text, tokens=text.tokens, tokens_read=text.tokens_read, cut=text.tokens_read < text.tokens
            ),
            explanation=selection and _explanation(selection, pages),
            pages=[_page_response(page).model_copy(update={"words": None}) for page in pages],
            errors=[schema.ProblemResponse(**asdict(problem)) for problem in problems],
            timings=_timings([*outcomes, generation], time.perf_counter() - started),
        )

    async def _outcomes(self, document: UploadedFile | WordPages, step: _PageStep, admit: Admit) -> Sequence[_Outcome]:
        """The outcome of each page, in order; `step` runs on each page after its OCR."""
        if isinstance(document, WordPages):
            await admit(len(document.pages))
            return await asyncio.gather(*(step(page, 0.0, time.perf_counter()) for page in document.pages))
        return await self._outcomes_of_file(document, step, admit)

    def _problems(self, outcomes: Sequence[_Outcome]) -> list[Problem]:
        """The problems of failed pages, counted in the metrics. Raises ApiError when all pages failed."""
        problems = [outcome.problem for outcome in outcomes if outcome.problem]
        if len(problems) == len(outcomes):
            raise failures.error_of_problem(problems[0])
        for problem in problems:
            self._telemetry.page_failed(problem.code)
        return problems

    async def _outcomes_of_file(self, file: UploadedFile, step: _PageStep, admit: Admit) -> Sequence[_Outcome]:
        data = ray.put(file.data)  # once for all pages: replicas on the same node share the copy
        num_pages = await self._count_pages(data)
        await admit(num_pages)
        slots = asyncio.Semaphore(self._max_pages_in_ocr)
        return await asyncio.gather(
            *(self._outcome_of_page(_PageOfFile(file, data, number), step, slots) for number in range(1, num_pages + 1))
        )

    async def count_pages(self, file: UploadedFile) -> int:
        """The number of pages of a file. Raises ApiError when it cannot be opened."""
        return await self._count_pages(file.data)

    async def _count_pages(self, data: Any) -> int:
        num_pages: int | Problem = await _call(self._reader.count_pages.remote(data), "open", None)
        if isinstance(num_pages, Problem):
            raise failures.error_of_problem(num_pages)
        return num_pages

    async def _outcome_of_page(self, source: "_PageOfFile", step: _PageStep, slots: asyncio.Semaphore) -> _Outcome:
        started = time.perf_counter()
        file, number = source.file, source.number
        async with slots:
            result: ReadPage | Problem = await _call(self._reader.read.remote(source.data, number), "ocr", number)
        if isinstance(result, Problem):
            return _Outcome(None, problem=result)
        self._telemetry.page_read(result.seconds)
        read = result.page
        page = Page(file.doc_id, number, read.width, read.height, read.words, file.source, "", "", read.provenance)
        return await step(page, result.seconds, started)

    async def _extract_page(self, page: Page, ocr: float, started: float) -> _Outcome:
        """Run the model on a page. `ocr`: seconds of OCR; `started`: start time of the page's processing."""
        result: BatchResult[tuple[Entity, ...]] | Problem = await _call(
            self._model.extract.remote(page), "model", page.number
        )
        if isinstance(result, Problem):
            return _Outcome(page, problem=replace(result, page_number=page.number), ocr=ocr)
        queue = max(time.perf_counter() - started - ocr - result.seconds, 0.0)
        self._telemetry.answered(result.seconds, result.batch_size, queue)
        return _Outcome(page, result.value, ocr=ocr, model=result.seconds / result.batch_size, queue=queue)

    async def _generate(self, request: WriteRequest) -> tuple[Text, Selection | None, _Outcome]:
        """The generated text of a document, its selection, and the times. Raises ApiError when the model failed."""
        started = time.perf_counter()
        result: BatchResult[tuple[Text, Selection | None]] | Problem = await _call(
            self._model.summarize.remote(request), "model", None
        )
        if isinstance(result, Problem):
            raise failures.error_of_problem(result)
        queue = max(time.perf_counter() - started - result.seconds, 0.0)
        self._telemetry.answered(result.seconds, result.batch_size, queue, pages=len(request.pages))
        return *result.value, _Outcome(None, model=result.seconds / result.batch_size, queue=queue)


@dataclass(frozen=True, slots=True)
class _PageOfFile:
    """Page `number` of an uploaded file; `data` refers to the file's bytes in Ray's object store."""

    file: UploadedFile
    data: Any
    number: int


async def _keep_page(page: Page, ocr: float, started: float) -> _Outcome:
    return _Outcome(page, ocr=ocr, queue=max(time.perf_counter() - started - ocr, 0.0))


async def _call(response: Any, stage: str, page_number: int | None) -> Any:
    """Await the response of a replica.

    Returns a Problem when the replica died. Cancels the call when the caller is cancelled.
    """
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()
        raise
    except _REPLICA_DIED as error:
        _log.warning("a replica died at stage %s: %s", stage, error)
        message = "the replica that processed this died; another one is being started; try again"
        return Problem(failures.UNAVAILABLE, stage, message, True, page_number)


def _entity_response(entity: Entity) -> schema.EntityResponse:
    return schema.EntityResponse.model_validate(asdict(entity))


def _field_response(field: FieldAnswer) -> schema.FieldResponse:
    return schema.FieldResponse.model_validate(asdict(field))


def _page_response(page: Page) -> schema.PageResponse:
    words = [
        schema.WordResponse(
            content=word.text, polygon=list(word.box.polygon(page.width, page.height)), confidence=word.confidence
        )
        for word in page.words
    ]
    return schema.PageResponse(
        page_number=page.number, width=page.width, height=page.height, num_words=len(words), words=words
    )


def _explanation(selection: Selection, pages: Sequence[Page]) -> schema.ExplanationResponse:
    positions = [(page, index) for page in pages for index in range(len(page.words))]
    return schema.ExplanationResponse(
        kept_states=selection.kept, words=[_selected_word(word, *positions[word.number]) for word in selection.words]
    )


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


def _timings(outcomes: Sequence[_Outcome], total: float) -> schema.Timings:
    def milliseconds(seconds: float) -> float:
        return round(seconds * 1000, 1)

    return schema.Timings(
        ocr_ms=milliseconds(sum(outcome.ocr for outcome in outcomes)),
        model_ms=milliseconds(sum(outcome.model for outcome in outcomes)),
        queue_ms=milliseconds(sum(outcome.queue for outcome in outcomes)),
        total_ms=milliseconds(total),
    )
