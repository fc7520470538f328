"""Bring a document through reading and model, and put its answer together."""

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
from layoutray.cluster.serving.replicas import BatchResult, Model, ReadPage, WriteRequest
from layoutray.cluster.serving.schema import ServedPath
from layoutray.cluster.serving.submission import UploadedFile, WordPages
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.document import Page
from layoutray.generation import NO_SELECTION, Text
from layoutray.selection import SelectedWord, Selection
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields

_REPLICA_GONE = (RayActorError, DeploymentUnavailableError, ReplicaUnavailableError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one page, or the writing about all of them, fared: what was read, and its entities or the problem that ended it.

    Times are in seconds.
    """

    page: Page | None
    entities: tuple[Entity, ...] = ()
    problem: Problem | None = None
    ocr: float = 0.0
    model: float = 0.0
    queue: float = 0.0


_Then = Callable[[Page, float, float], Awaitable[_Outcome]]
"""What becomes of a page that took so many seconds to read, and has been under way since that time."""


class Service:
    """Answers documents with the replicas behind two handles: of page readers, and of a model.

    Args:
        reading_at_once: pages of one document that may be with the readers; the rest waits here, so that a long
            document does not stand before everybody else's single pages.
    """

    def __init__(
        self, reader: DeploymentHandle, model: DeploymentHandle, *, reading_at_once: int, telemetry: Telemetry
    ) -> None:
        self._reader = reader
        self._model = model
        self._reading_at_once = reading_at_once
        self._telemetry = telemetry

    async def model(self) -> Model:
        """What is loaded. Raises ApiError (503) while no replica answers."""
        found = await _answer_of(self._model.describe.remote(), "model", None)
        if isinstance(found, Problem):
            raise failures.of_problem(found)
        return found

    async def model_at(self, path: ServedPath) -> Model:
        """What is loaded, if it answers at `path`. Raises ApiError: 404 where it does not, and as `model`."""
        model = await self.model()
        if model.path != path:
            message = f"{model.model_id}, the model that is served here, answers at {model.path} and not at {path}"
            raise ApiError(404, "not_offered", message, retryable=False)
        return model

    async def extract(self, document: UploadedFile | WordPages, model: Model) -> schema.ExtractAnswer:
        """What `model` finds in a document, words included; one that writes fields reads those of its pages together that could be read.

        Raises:
            ApiError: when none of its pages could be answered, that of the first page; and when a model that writes fails.
        """
        started = time.perf_counter()
        outcomes = await self._outcomes(document, _only_read if model.writes else self._extracted)
        problems = self._problems(outcomes)
        found = [entity for outcome in outcomes for entity in outcome.entities]
        fields, cut = field_answers(found, model.fields), None
        if model.writes:
            pages = [outcome.page for outcome in outcomes if outcome.page]
            text, _, writing = await self._written(WriteRequest(pages, explain=False))
            fields, cut = written_fields(text.lines, pages, model.fields), text.tokens_read < text.tokens
            outcomes = [*outcomes, writing]
        return schema.ExtractAnswer(
            model_id=model.model_id,
            model_version=model.model_version,
            status="partial_success" if problems else "success",
            doc_id=document.doc_id,
            document=schema.DocumentAnswer(
                entities=[_entity(entity) for entity in found], fields=[_field(field) for field in fields], cut=cut
            ),
            pages=[_page(outcome.page) for outcome in outcomes if outcome.page],
            errors=[schema.ProblemAnswer(**asdict(problem)) for problem in problems],
            timings=_timings(outcomes, time.perf_counter() - started),
        )

    async def summarize(
        self, document: UploadedFile | WordPages, model: Model, *, explain: bool
    ) -> schema.SummarizeAnswer:
        """What `model` writes about those pages of a document that could be read.

        Raises:
            ApiError: when that is none of them, that of the first page; when the model fails, or cannot explain.
        """
        if explain and not model.explains:
            raise failures.invalid(f"explain: {model.model_id} cannot say what it keeps; {NO_SELECTION}")
        started = time.perf_counter()
        outcomes = await self._outcomes(document, _only_read)
        problems = self._problems(outcomes)
        pages = [outcome.page for outcome in outcomes if outcome.page]
        text, selection, writing = await self._written(WriteRequest(pages, explain))
        return schema.SummarizeAnswer(
            model_id=model.model_id,
            model_version=model.model_version,
            status="partial_success" if problems else "success",
            doc_id=document.doc_id,
            summary=schema.SummaryAnswer(
                text=text.text, tokens=text.tokens, tokens_read=text.tokens_read, cut=text.tokens_read < text.tokens
            ),
            explanation=selection and _explanation(selection, pages),
            pages=[_page(page).model_copy(update={"words": None}) for page in pages],
            errors=[schema.ProblemAnswer(**asdict(problem)) for problem in problems],
            timings=_timings([*outcomes, writing], time.perf_counter() - started),
        )

    async def _outcomes(self, document: UploadedFile | WordPages, then: _Then) -> Sequence[_Outcome]:
        """How each page fared, in order; `then` is done with each as soon as it is read."""
        if isinstance(document, WordPages):
            return await asyncio.gather(*(then(page, 0.0, time.perf_counter()) for page in document.pages))
        return await self._from_file(document, then)

    def _problems(self, outcomes: Sequence[_Outcome]) -> list[Problem]:
        """Those of pages, which are counted. Raises ApiError when nothing is left."""
        problems = [outcome.problem for outcome in outcomes if outcome.problem]
        if len(problems) == len(outcomes):
            raise failures.of_problem(problems[0])
        for problem in problems:
            self._telemetry.page_failed(problem.code)
        return problems

    async def _from_file(self, file: UploadedFile, then: _Then) -> Sequence[_Outcome]:
        data = ray.put(file.data)  # once, however many pages: replicas on the same machine share it
        num_pages = await _answer_of(self._reader.count_pages.remote(data), "open", None)
        if isinstance(num_pages, Problem):
            raise failures.of_problem(num_pages)
        free = asyncio.Semaphore(self._reading_at_once)
        return await asyncio.gather(
            *(self._page_of_file(file, data, number, then, free) for number in range(1, num_pages + 1))
        )

    async def _page_of_file(
        self, file: UploadedFile, data: Any, number: int, then: _Then, free: asyncio.Semaphore
    ) -> _Outcome:
        started = time.perf_counter()
        async with free:
            read: ReadPage | Problem = await _answer_of(self._reader.read.remote(data, number), "ocr", number)
        if isinstance(read, Problem):
            return _Outcome(None, problem=read)
        self._telemetry.page_read(read.seconds)
        seen = read.page
        page = Page(file.doc_id, number, seen.width, seen.height, seen.words, file.source, "", "", seen.provenance)
        return await then(page, read.seconds, started)

    async def _extracted(self, page: Page, ocr: float, started: float) -> _Outcome:
        """Run the model on a page that took `ocr` seconds to read, and has been under way since `started`."""
        found: BatchResult[tuple[Entity, ...]] | Problem = await _answer_of(
            self._model.extract.remote(page), "model", page.number
        )
        if isinstance(found, Problem):
            return _Outcome(page, problem=replace(found, page_number=page.number), ocr=ocr)
        queue = max(time.perf_counter() - started - ocr - found.seconds, 0.0)
        self._telemetry.answered(found.seconds, found.batch_size, queue)
        return _Outcome(page, found.value, ocr=ocr, model=found.seconds / found.batch_size, queue=queue)

    async def _written(self, asked: WriteRequest) -> tuple[Text, Selection | None, _Outcome]:
        """What the model writes about a document, and how long that took. Raises ApiError when it fails."""
        started = time.perf_counter()
        found: BatchResult[tuple[Text, Selection | None]] | Problem = await _answer_of(
            self._model.summarize.remote(asked), "model", None
        )
        if isinstance(found, Problem):
            raise failures.of_problem(found)
        queue = max(time.perf_counter() - started - found.seconds, 0.0)
        self._telemetry.answered(found.seconds, found.batch_size, queue, pages=len(asked.pages))
        return *found.value, _Outcome(None, model=found.seconds / found.batch_size, queue=queue)


async def _only_read(page: Page, ocr: float, started: float) -> _Outcome:
    return _Outcome(page, ocr=ocr, queue=max(time.perf_counter() - started - ocr, 0.0))


async def _answer_of(response: Any, stage: str, page_number: int | None) -> Any:
    """What a replica answers to a call of its handle; a Problem when it is gone. A caller that stops waiting takes its call back."""
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()
        raise
    except _REPLICA_GONE as error:
        _log.warning("a replica is gone at stage %s: %s", stage, error)
        message = "the worker that had this is gone; another one is being started"
        return Problem(failures.UNAVAILABLE, stage, message, True, page_number)


def _entity(entity: Entity) -> schema.EntityAnswer:
    return schema.EntityAnswer.model_validate(asdict(entity))


def _field(field: FieldAnswer) -> schema.FieldAnswer:
    return schema.FieldAnswer.model_validate(asdict(field))


def _page(page: Page) -> schema.PageAnswer:
    words = [
        schema.WordAnswer(
            content=word.text, polygon=list(word.box.polygon(page.width, page.height)), confidence=word.confidence
        )
        for word in page.words
    ]
    return schema.PageAnswer(
        page_number=page.number, width=page.width, height=page.height, num_words=len(words), words=words
    )


def _explanation(selection: Selection, pages: Sequence[Page]) -> schema.ExplanationAnswer:
    places = [(page, index) for page in pages for index in range(len(page.words))]
    return schema.ExplanationAnswer(
        kept_states=selection.kept, words=[_selected_word(word, *places[word.number]) for word in selection.words]
    )


def _selected_word(selected: SelectedWord, page: Page, index: int) -> schema.SelectedWordAnswer:
    word = page.words[index]
    return schema.SelectedWordAnswer(
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
