"""Answer documents on Ray: pages at readers, batches at model replicas."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import ray
from ray.serve.handle import DeploymentHandle

from layoutray.cluster.endpoint.calls import call, result_of
from layoutray.cluster.endpoint.models import Models
from layoutray.cluster.endpoint.replicas import BatchResult, ModelResult, PageRequest, Request, WriteRequest
from layoutray.cluster.endpoint.versions import ServedVersion
from layoutray.document import Page
from layoutray.document.answers import Found, Problem
from layoutray.errors import ApiError
from layoutray.serving import answer, failures
from layoutray.serving.answer import DocumentAnswer, Written
from layoutray.serving.answerer import DEFAULT, Admit, admit_all, named
from layoutray.serving.batcher import Batcher
from layoutray.serving.capacity import Capacity, FairSlots
from layoutray.serving.limits import Limits, WordCount, quota_pages
from layoutray.serving.model import ModelDescription, ModelState
from layoutray.serving.outcome import Outcome
from layoutray.serving.page_cache import PageCache
from layoutray.serving.router import with_packet
from layoutray.serving.submission import UploadedFile, WordPages
from layoutray.serving.telemetry import Telemetry

_PageStep = Callable[[Page, float, float], Coroutine[Any, Any, Outcome]]
"""The step after OCR. Its arguments: the page, the seconds of OCR, and the start time of the page's processing."""

_Flow = tuple[str, Hashable]
"""The owner of a document, and the document among those of the owner."""
_Read = TypeVar("_Read")
_WORDS = 300
"""Words of a usual page. Batches of several pages have at most these for each page, so that nobody waits for many large
pages of others."""


@dataclass(kw_only=True)
class Service:
    """Answers documents through the page readers and what holds the models.

    Pages wait here, in fair order over owners and their documents, until the readers have a place for one. So neither a
    long document nor a busy owner blocks single pages of others. What has begun at a reader ends there, and its time
    counts for its owner, also if the client has gone.

    Attributes:
        served: the served version of each model by name, that of the default one first.
        routes: see `router.with_packet`.
    """

    reader: DeploymentHandle
    holder: Models
    served: Mapping[str, ServedVersion]
    routes: Mapping[str, str]
    capacity: Capacity
    kept: PageCache
    telemetry: Telemetry
    limits: Limits

    def __post_init__(self) -> None:
        capacity = self.capacity
        self._places = FairSlots(capacity.pages_in_ocr)
        self._reads: set[asyncio.Task[Any]] = set()
        # A batch is of one model, so that no page waits until another model is loaded.
        self._ask = {
            name: Batcher[Request, ModelResult](
                run=self._ask_model,
                cost=_cost,
                most=capacity.batch_size,
                most_cost=capacity.batch_size * _WORDS,
                at_once=capacity.batches,
            )
            for name in self.served
        }

    def models(self) -> Mapping[str, ModelState]:
        return {name: served.state for name, served in self.served.items()}

    async def model(self, name: str = DEFAULT) -> ModelDescription:
        served = named(self.served, name)
        return served.state.description or await served.ask()

    async def check(self) -> ModelDescription:
        if await self.holder.is_late():
            message = "a model replica has not finished a batch in time; it is replaced"
            raise ApiError(503, failures.UNAVAILABLE, message, retryable=True)
        return await self.served[DEFAULT].ask()

    async def count_pages(self, file: UploadedFile, owner: str = "") -> int:
        return await self._count_pages(file.data, owner, file.doc_id)

    async def answer(
        self,
        document: UploadedFile | WordPages,
        model: ModelDescription,
        admit: Admit = admit_all,
        *,
        owner: str = "",
        explain: bool = False,
    ) -> DocumentAnswer:
        started = time.perf_counter()
        flow = (owner, object())  # documents of one content are different ones
        step = _keep_page if model.writes else partial(self._extract_page, model, flow)
        outcomes, written = await self._outcomes(document, step, admit, flow), None
        for problem in answer.problems_of(outcomes):
            self.telemetry.page_failed(problem.code)
        if model.writes:
            request = WriteRequest(model.version, answer.pages_of(outcomes), explain)
            written, generation = await self._write(request, flow)
            outcomes = [*outcomes, generation]
        seconds = time.perf_counter() - started
        answered = await asyncio.to_thread(answer.answered, document, model, outcomes, written, seconds)
        self.telemetry.document(answered.response)
        await asyncio.to_thread(lambda: self.telemetry.observed(answer.observed(answered, model), model))
        return await with_packet(answered, model, self, self.routes, owner)

    async def _outcomes(
        self, document: UploadedFile | WordPages, step: _PageStep, admit: Admit, flow: _Flow
    ) -> Sequence[Outcome]:
        """The outcome of each page, in order; `step` runs on each page after its OCR."""
        if isinstance(document, WordPages):
            await admit(quota_pages(document.pages))
            return await _all(step(page, 0.0, time.perf_counter()) for page in document.pages)
        data = ray.put(document.data)  # once for all pages: replicas on the same node share the copy
        num_pages = await self._count_pages(data, *flow)
        await admit(num_pages)
        count = WordCount(self.limits)

        async def outcome_of_page(number: int) -> Outcome:
            outcome = await document.known.get(number)
            if outcome is None:
                started = time.perf_counter()
                outcome = await self._read(document, data, number, flow)
                if outcome.page:
                    count.add(number, [word.text for word in outcome.page.words])
                    outcome = await step(outcome.page, outcome.ocr, started)
                await document.known.put(number, outcome)
            return outcome

        return await _all(map(outcome_of_page, range(1, num_pages + 1)))

    async def _count_pages(self, data: Any, owner: str, document: Hashable) -> int:
        async def count() -> int:
            return await result_of(self.reader.count_pages.remote(data), "open")

        return await self._at_reader((owner, document), count)

    async def _at_reader(self, flow: _Flow, work: Callable[[], Awaitable[_Read]]) -> _Read:
        """The result of `work` at a reader, when it is its turn."""
        began: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def run() -> _Read:
            async with self._places.take(*flow):
                began.set_result(None)
                return await work()

        task = asyncio.create_task(run())
        self._reads.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not began.done():
                task.cancel()
            raise

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._reads.discard(task)
        if not task.cancelled():
            task.exception()  # which is that of the caller, if it is still there

    async def _read(self, file: UploadedFile, data: Any, number: int, flow: _Flow) -> Outcome:
        """A page with its words: kept ones if there are, else from a reader. `data` is in Ray's object store."""
        if kept := self.kept.get(file.doc_id, number):
            self.telemetry.kept.inc()
            return Outcome(page=replace(kept, source=file.source))

        async def reading() -> Outcome | Problem:
            return await call(self.reader.read.remote(data, number, file.doc_id, file.source), "ocr", number)

        read = await self._at_reader(flow, reading)
        if isinstance(read, Problem):
            return Outcome(page=None, problem=read)
        if read.page:
            self.telemetry.ocr_seconds.observe(read.ocr)
            self.kept.put(read.page)
        return read

    async def _extract_page(
        self, model: ModelDescription, flow: _Flow, page: Page, ocr: float, started: float
    ) -> Outcome:
        """Run a model on a page. `ocr`: seconds of OCR; `started`: start time of the page's processing."""
        request = PageRequest(model.version, page, model.fields if model.by_name else {})
        result: BatchResult[Found] | Problem = await self._ask[model.version.name](request, *flow)
        if isinstance(result, Problem):
            return Outcome(page=page, problem=replace(result, page_number=page.number), ocr=ocr)
        queue = max(time.perf_counter() - started - ocr - result.seconds, 0.0)
        self.telemetry.answered(result.seconds, result.batch_size, queue)
        return Outcome(
            page=page,
            entities=result.value.entities,
            candidates=result.value.candidates,
            ocr=ocr,
            model=result.seconds / result.batch_size,
            queue=queue,
        )

    async def _write(self, request: WriteRequest, flow: _Flow) -> tuple[Written, Outcome]:
        """What the model writes about a document, and the times. Raises ApiError when the model failed."""
        started = time.perf_counter()
        result: BatchResult[Written] | Problem = await self._ask[request.version.name](request, *flow)
        if isinstance(result, Problem):
            raise failures.error_of(result)
        queue = max(time.perf_counter() - started - result.seconds, 0.0)
        self.telemetry.answered(result.seconds, result.batch_size, queue, pages=len(request.pages))
        return result.value, Outcome(page=None, model=result.seconds / result.batch_size, queue=queue)

    async def _ask_model(self, requests: Sequence[Request]) -> Sequence[ModelResult]:
        """The results of a batch; the same Problem for each request when the replica died."""
        results = await self.holder.answer(requests)
        return [results] * len(requests) if isinstance(results, Problem) else results


def _cost(request: Request) -> float:
    """The words that a model has to read, and one."""
    pages = request.pages if isinstance(request, WriteRequest) else [request.page]
    return 1 + sum(len(page.words) for page in pages)


async def _keep_page(page: Page, ocr: float, started: float) -> Outcome:
    return Outcome(page=page, ocr=ocr, queue=max(time.perf_counter() - started - ocr, 0.0))


async def _all(pages: Iterable[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """The outcome of each page. When one raises an exception, this raises it once the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(page) for page in pages]
    except BaseExceptionGroup as raised:
        raise raised.exceptions[0] from None
    return [task.result() for task in tasks]
