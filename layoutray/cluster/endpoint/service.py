"""Answer a document: OCR, model, response."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import ray
from ray.serve.handle import DeploymentHandle

from layoutray.cluster.endpoint.batcher import Batcher
from layoutray.cluster.endpoint.calls import call, result_of
from layoutray.cluster.endpoint.page_cache import PageCache
from layoutray.cluster.endpoint.page_reader import ReadPage
from layoutray.cluster.endpoint.replicas import BatchResult, ModelResult, PageRequest, Request, WriteRequest
from layoutray.cluster.endpoint.served_models import DEFAULT, ServedModels
from layoutray.document import Page
from layoutray.document.answers import Entity, Problem
from layoutray.inference.generation import NO_SELECTION, Text
from layoutray.inference.selection import Selection
from layoutray.serving import answer, failures, schema
from layoutray.serving.capacity import Capacity, Slots
from layoutray.serving.failures import ApiError
from layoutray.serving.model import ModelDescription, Version
from layoutray.serving.outcome import Outcome
from layoutray.serving.schema import ServedPath
from layoutray.serving.submission import UploadedFile, WordPages
from layoutray.serving.telemetry import Telemetry

Admit = Callable[[int], Awaitable[None]]
"""Called with the number of pages of a document before they are processed. It may raise ApiError."""
_PageStep = Callable[[Page, float, float], Awaitable[Outcome]]
"""The step after OCR. Its arguments: the page, the seconds of OCR, and the start time of the page's processing."""


class Service:
    """Answers documents through the handles of the page readers and of the model replicas.

    Pages of a document wait here until the readers have a place for one, so that a long document does not block single
    pages of other requests.
    """

    def __init__(
        self,
        reader: DeploymentHandle,
        model: DeploymentHandle,
        models: ServedModels,
        capacity: Capacity,
        kept: PageCache,
        telemetry: Telemetry,
    ) -> None:
        self._reader = reader
        self._model = model
        self.models = models
        self._capacity = capacity
        self._kept = kept
        self._telemetry = telemetry
        # A batch is of one model, so that no page waits until another model is loaded.
        self._ask = {
            name: Batcher[Request, ModelResult](self._ask_model, capacity.batch_size, capacity.batches)
            for name in models.names
        }

    async def model(self, name: str = DEFAULT) -> ModelDescription:
        """The served version of a model; a replica is asked for the first one.

        Raises:
            ApiError: 404 when there is no such model, 503 when no replica answers, or when it cannot be loaded.
        """
        served = self.models.of(name)
        return served.description or await served.ask()

    async def model_at(self, path: ServedPath, name: str = DEFAULT) -> ModelDescription:
        """The served version of a model, for one whole document.

        Raises:
            ApiError: 404 when it is served at another path than `path` of the default model, else as `model`.
        """
        model = await self.model(name)
        if model.path != path:
            message = f"model {model.model_id} is served at {model.served_at}"
            raise ApiError(404, "not_offered", message, retryable=False)
        return model

    async def extract(
        self, document: UploadedFile | WordPages, model: ModelDescription, admit: Admit
    ) -> tuple[schema.ExtractResponse, Sequence[Page]]:
        """Entities, fields and records of a document, and its pages with words.

        A model that generates fields reads all pages together; pages that failed are left out.

        Raises:
            ApiError: that of `admit`; when all pages failed (the first page's error), or when text generation failed.
        """
        started = time.perf_counter()
        outcomes = await self._outcomes(
            document, _keep_page if model.writes else partial(self._extract_page, model.version), admit
        )
        self._count_failed(outcomes)
        text = None
        if model.writes:
            request = WriteRequest(model.version, answer.pages_of(outcomes), explain=False)
            text, _, generation = await self._generate(request)
            outcomes = [*outcomes, generation]
        answered = answer.extracted(document.doc_id, model, outcomes, text, time.perf_counter() - started)
        self._telemetry.document(answered)
        return answered, answer.pages_of(outcomes)

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
        self._count_failed(outcomes)
        pages = answer.pages_of(outcomes)
        text, selection, generation = await self._generate(WriteRequest(model.version, pages, explain))
        explanation = selection and answer.explanation(selection, pages)
        answered = answer.summarized(
            document.doc_id, model, [*outcomes, generation], text, explanation, time.perf_counter() - started
        )
        self._telemetry.document(answered)
        return answered

    async def _outcomes(self, document: UploadedFile | WordPages, step: _PageStep, admit: Admit) -> Sequence[Outcome]:
        """The outcome of each page, in order; `step` runs on each page after its OCR."""
        if isinstance(document, WordPages):
            await admit(len(document.pages))
            return await asyncio.gather(*(step(page, 0.0, time.perf_counter()) for page in document.pages))
        return await self._outcomes_of_file(document, step, admit)

    def _count_failed(self, outcomes: Sequence[Outcome]) -> None:
        """Count failed pages in the metrics. Raises ApiError when all pages failed."""
        for problem in answer.problems_of(outcomes):
            self._telemetry.page_failed(problem.code)

    async def _outcomes_of_file(self, file: UploadedFile, step: _PageStep, admit: Admit) -> Sequence[Outcome]:
        data = ray.put(file.data)  # once for all pages: replicas on the same node share the copy
        num_pages = await self._count_pages(data)
        await admit(num_pages)
        slots = Slots(self._capacity.pages_in_ocr)
        return await asyncio.gather(
            *(self._outcome_of_page(_PageOfFile(file, data, number), step, slots) for number in range(1, num_pages + 1))
        )

    async def count_pages(self, file: UploadedFile) -> int:
        """The number of pages of a file. Raises ApiError when it cannot be opened."""
        return await self._count_pages(file.data)

    async def _count_pages(self, data: Any) -> int:
        return await result_of(self._reader.count_pages.remote(data), "open")

    async def _outcome_of_page(self, source: "_PageOfFile", step: _PageStep, slots: Slots) -> Outcome:
        file, number = source.file, source.number
        outcome = await file.known.get(number)
        if outcome is None:
            outcome = await self._new_outcome_of_page(source, step, slots)
            await file.known.put(number, outcome)
        return outcome

    async def _new_outcome_of_page(self, source: "_PageOfFile", step: _PageStep, slots: Slots) -> Outcome:
        started = time.perf_counter()
        file, number = source.file, source.number
        result = await self._read(source, slots)
        if isinstance(result, Problem):
            return Outcome(None, problem=result)
        read = result.page
        page = Page(file.doc_id, number, read.width, read.height, read.words, file.source, "", "", read.provenance)
        return await step(page, result.seconds, started)

    async def _read(self, source: "_PageOfFile", slots: Slots) -> ReadPage | Problem:
        """A page with its words: kept ones if there are, else from a reader."""
        content, number = source.file.doc_id, source.number
        if kept := self._kept.get(content, number):
            self._telemetry.page_kept()
            return ReadPage(kept, 0.0)
        async with slots.take():
            result: ReadPage | Problem = await call(self._reader.read.remote(source.data, number), "ocr", number)
        if isinstance(result, ReadPage):
            self._telemetry.page_read(result.seconds)
            self._kept.put(content, result.page)
        return result

    async def _extract_page(self, version: Version, page: Page, ocr: float, started: float) -> Outcome:
        """Run a version on a page. `ocr`: seconds of OCR; `started`: start time of the page's processing."""
        request = PageRequest(version, page)
        result: BatchResult[tuple[Entity, ...]] | Problem = await self._ask[version.name](request)
        if isinstance(result, Problem):
            return Outcome(page, problem=replace(result, page_number=page.number), ocr=ocr)
        queue = max(time.perf_counter() - started - ocr - result.seconds, 0.0)
        self._telemetry.answered(result.seconds, result.batch_size, queue)
        return Outcome(page, result.value, ocr=ocr, model=result.seconds / result.batch_size, queue=queue)

    async def _generate(self, request: WriteRequest) -> tuple[Text, Selection | None, Outcome]:
        """The generated text of a document, its selection, and the times. Raises ApiError when the model failed."""
        started = time.perf_counter()
        ask = self._ask[request.version.name]
        result: BatchResult[tuple[Text, Selection | None]] | Problem = await ask(request)
        if isinstance(result, Problem):
            raise failures.error_of_problem(result)
        queue = max(time.perf_counter() - started - result.seconds, 0.0)
        self._telemetry.answered(result.seconds, result.batch_size, queue, pages=len(request.pages))
        return *result.value, Outcome(None, model=result.seconds / result.batch_size, queue=queue)

    async def _ask_model(self, requests: Sequence[Request]) -> Sequence[ModelResult]:
        """The results of a batch; the same Problem for each request when the replica died."""
        results: Sequence[ModelResult] | Problem = await call(self._model.answer.remote(requests), "model")
        return [results] * len(requests) if isinstance(results, Problem) else results


@dataclass(frozen=True, slots=True)
class _PageOfFile:
    """Page `number` of an uploaded file; `data` refers to the file's bytes in Ray's object store."""

    file: UploadedFile
    data: Any
    number: int


async def _keep_page(page: Page, ocr: float, started: float) -> Outcome:
    return Outcome(page, ocr=ocr, queue=max(time.perf_counter() - started - ocr, 0.0))
