"""Bring a document through reading and model, and put its answer together."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError
from ray.serve.exceptions import DeploymentUnavailableError, ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle

from layoutray.answers import Entity, FieldAnswer, Problem
from layoutray.cluster.serving import failures, schema
from layoutray.cluster.serving.replicas import Extracted, Model, ReadPage
from layoutray.cluster.serving.submission import UploadedFile, WordPages
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.document import Page
from layoutray.tasks.field_answers import field_answers

_REPLICA_GONE = (RayActorError, DeploymentUnavailableError, ReplicaUnavailableError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one page fared: what was read of it, and its entities or the problem that ended it. Times in seconds."""

    page: Page | None
    entities: tuple[Entity, ...] = ()
    problem: Problem | None = None
    ocr: float = 0.0
    model: float = 0.0
    queue: float = 0.0


class Service:
    """Answers documents with the replicas behind two handles.

    Args:
        reading_at_once: pages of one document that may be with the readers; the rest waits here, so that a long
            document does not stand before everybody else's single pages.
    """

    def __init__(self, reader: DeploymentHandle, extractor: DeploymentHandle, *, reading_at_once: int, telemetry: Telemetry) -> None:
        self._reader = reader
        self._extractor = extractor
        self._reading_at_once = reading_at_once
        self._telemetry = telemetry

    async def model(self) -> Model:
        """What is loaded. Raises ApiError (503) while no replica answers."""
        found = await _answer_of(self._extractor.describe.remote(), "model", None)
        if isinstance(found, Problem):
            raise failures.of_problem(found)
        return found

    async def answer(self, document: UploadedFile | WordPages) -> schema.ExtractAnswer:
        """The answer to a document, words included.

        Raises:
            ApiError: when none of its pages could be answered; that of the first page.
        """
        started = time.perf_counter()
        model = await self.model()
        outcomes = await (self._from_words(document) if isinstance(document, WordPages) else self._from_file(document))
        problems = [outcome.problem for outcome in outcomes if outcome.problem]
        if len(problems) == len(outcomes):
            raise failures.of_problem(problems[0])
        for problem in problems:
            self._telemetry.page_failed(problem.code)
        found = [entity for outcome in outcomes for entity in outcome.entities]
        return schema.ExtractAnswer(
            model_id=model.model_id,
            model_version=model.model_version,
            status="partial_success" if problems else "success",
            doc_id=document.doc_id,
            document=schema.DocumentAnswer(
                entities=[_entity(entity) for entity in found], fields=[_field(field) for field in field_answers(found, model.fields)]
            ),
            pages=[_page(outcome.page) for outcome in outcomes if outcome.page],
            errors=[schema.ProblemAnswer(**asdict(problem)) for problem in problems],
            timings=_timings(outcomes, time.perf_counter() - started),
        )

    async def _from_file(self, file: UploadedFile) -> Sequence[_Outcome]:
        data = ray.put(file.data)  # once, however many pages: replicas on the same machine share it
        num_pages = await _answer_of(self._reader.count_pages.remote(data), "open", None)
        if isinstance(num_pages, Problem):
            raise failures.of_problem(num_pages)
        free = asyncio.Semaphore(self._reading_at_once)
        return await asyncio.gather(*(self._page_of_file(file, data, number, free) for number in range(1, num_pages + 1)))

    async def _from_words(self, document: WordPages) -> Sequence[_Outcome]:
        return await asyncio.gather(*(self._extracted(page, 0.0, time.perf_counter()) for page in document.pages))

    async def _page_of_file(self, file: UploadedFile, data: Any, number: int, free: asyncio.Semaphore) -> _Outcome:
        started = time.perf_counter()
        async with free:
            read: ReadPage | Problem = await _answer_of(self._reader.read.remote(data, number), "ocr", number)
        if isinstance(read, Problem):
            return _Outcome(None, problem=read)
        self._telemetry.page_read(read.seconds)
        seen = read.page
        page = Page(file.doc_id, number, seen.width, seen.height, seen.words, file.source, "", "", seen.provenance)
        return await self._extracted(page, read.seconds, started)

    async def _extracted(self, page: Page, ocr: float, started: float) -> _Outcome:
        """Run the model on a page that took `ocr` seconds to read, and has been under way since `started`."""
        found: Extracted | Problem = await _answer_of(self._extractor.extract.remote(page), "model", page.number)
        if isinstance(found, Problem):
            return _Outcome(page, problem=found, ocr=ocr)
        queue = max(time.perf_counter() - started - ocr - found.seconds, 0.0)
        self._telemetry.page_answered(found.seconds, found.batch_pages, queue)
        return _Outcome(page, found.entities, ocr=ocr, model=found.seconds / found.batch_pages, queue=queue)


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
        schema.WordAnswer(content=word.text, polygon=list(word.box.polygon(page.width, page.height)), confidence=word.confidence)
        for word in page.words
    ]
    return schema.PageAnswer(page_number=page.number, width=page.width, height=page.height, num_words=len(words), words=words)


def _timings(outcomes: Sequence[_Outcome], total: float) -> schema.Timings:
    def milliseconds(seconds: float) -> float:
        return round(seconds * 1000, 1)

    return schema.Timings(
        ocr_ms=milliseconds(sum(outcome.ocr for outcome in outcomes)),
        model_ms=milliseconds(sum(outcome.model for outcome in outcomes)),
        queue_ms=milliseconds(sum(outcome.queue for outcome in outcomes)),
        total_ms=milliseconds(total),
    )
