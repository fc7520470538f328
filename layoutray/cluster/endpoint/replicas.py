"""The replicas behind the endpoint that run the model on batches.

A failure is returned as a `Problem`, not raised: a `Problem` can be sent between processes, and it fails only its own
page or document.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus, ray_internals
from layoutray.document import Page
from layoutray.document.answers import Found, Problem
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.inference import interruption
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import TextGenerator
from layoutray.serving import failures
from layoutray.serving.answer import Written
from layoutray.serving.failures import log_failure, problem_of
from layoutray.serving.loaded_versions import LoadedVersions
from layoutray.serving.model import LoadedVersion, Loader, ModelDescription, Version, VersionError
from layoutray.serving.request_log import write_with_serve
from layoutray.tracking import client

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchResult(Generic[Result]):
    """The model's result for one item, with the seconds and the size of its batch."""

    value: Result
    seconds: float
    batch_size: int


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page for a version of a model that tags words. `fields` are those to answer by their names."""

    version: Version
    page: Page
    fields: Mapping[str, FieldType] = field(default_factory=dict[str, FieldType])


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A document for text generation: its pages in order, and whether to return the selected words."""

    version: Version
    pages: Sequence[Page]
    explain: bool


Request = PageRequest | WriteRequest
ModelResult = BatchResult[Any] | Problem
"""Of a PageRequest: what is `Found`. Of a WriteRequest: what was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldModels:
    """What a process holds.

    Attributes:
        first: the served version of the default model at the start.
        budget: bytes that the weights of models that are not the default one may take.
        deadline_s: seconds after which a batch that runs shows that the process hangs; Serve replaces it.
    """

    first: Version
    fetch: Fetch
    beams: int
    budget: int
    deadline_s: float


class ModelReplica:
    """Runs the model on batches, one at a time. A batch that is cancelled stops before its next forward pass."""

    def __init__(self, held: HeldModels) -> None:
        write_with_serve()
        client.be_impatient()
        loader = Loader(gpus.assigned_device(), held.fetch, held.beams, ray_internals.free_memory)
        self._versions = LoadedVersions(held.first, loader, held.budget)
        self._one_run = threading.Lock()
        self._failed: set[Version] = set()
        self._deadline_s = held.deadline_s
        self._began = math.inf

    async def describe(self) -> ModelDescription:
        return self._versions.served.description

    async def load(self, version: Version) -> ModelDescription | VersionError:
        try:
            return (await self._versions.get(version)).description
        except VersionError as error:
            return error

    async def keep(self, versions: Sequence[Version]) -> None:
        await self._versions.keep(versions)

    async def is_late(self) -> bool:
        return time.monotonic() - self._began > self._deadline_s

    async def check_health(self) -> None:
        """Raise if a batch does not end, or a model has failed on a document and now fails on its example too.

        Serve then replaces the replica. After some errors, for example of CUDA, a process can no longer use its GPU.
        """
        if await self.is_late():
            raise TimeoutError(f"a batch has not ended {self._deadline_s:g} s after its begin")
        for version in tuple(self._failed):
            if loaded := self._versions.in_memory(version):
                await asyncio.to_thread(self._answer_example, loaded)
            self._failed.discard(version)

    async def answer(self, requests: Sequence[Request]) -> list[ModelResult]:
        """The result of each request, from the version that it names. Requests for different versions share no run."""
        answered: dict[int, ModelResult] = {}
        for version in dict.fromkeys(request.version for request in requests):
            numbers = [number for number, request in enumerate(requests) if request.version == version]
            results = await self._answer(version, [requests[number] for number in numbers])
            answered |= zip(numbers, results, strict=True)
        return [answered[number] for number in range(len(requests))]

    async def _answer(self, version: Version, requests: Sequence[Request]) -> Sequence[ModelResult]:
        """The results of requests for one version; the same Problem for each when it cannot be loaded."""
        try:
            async with self._versions.use(version) as loaded:
                run = _extract if isinstance(loaded.model, Extractor) else _generate
                with interruption.interruptible():
                    results = await asyncio.to_thread(self._run, partial(run, loaded.model), requests)
        except VersionError as error:
            message = f"the version of the model that was to answer cannot be loaded any more: {error.message}"
            return [Problem(code=failures.UNAVAILABLE, stage="model", message=message, retryable=True)] * len(requests)
        if any(isinstance(result, Problem) and result.code == Reason.INTERNAL for result in results):
            self._failed.add(version)
        return results

    def _run(
        self, model: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
    ) -> list[BatchResult[Result] | Problem]:
        with self._one_run:
            self._began = time.monotonic()
            try:
                return _run_batch(model, items)
            finally:
                self._began = math.inf

    def _answer_example(self, loaded: LoadedVersion) -> None:
        with self._one_run:
            loaded.answer_example()


def _extract(extractor: Extractor, requests: Sequence[PageRequest]) -> list[Found]:
    found: dict[int, Found] = {}
    questions: dict[tuple[tuple[str, FieldType], ...], list[int]] = {}
    for number, request in enumerate(requests):
        questions.setdefault(tuple(request.fields.items()), []).append(number)
    for fields, numbers in questions.items():
        asked = extractor.asking(dict(fields))
        found |= zip(numbers, asked.read([requests[number].page for number in numbers]), strict=True)
    return [found[number] for number in range(len(requests))]


def _generate(generator: TextGenerator, requests: Sequence[WriteRequest]) -> list[Written]:
    to_explain = [request.pages for request in requests if request.explain]
    selections = iter(generator.selections(to_explain) if generator.shows_selection else ())
    texts = generator.write([request.pages for request in requests])
    return [
        Written(text, next(selections) if request.explain else None)
        for request, text in zip(requests, texts, strict=True)
    ]


def _run_batch(
    model: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
) -> list[BatchResult[Result] | Problem]:
    started = time.perf_counter()
    try:
        interruption.check()
        results = model(items)
    except interruption.InterruptedWorkError:
        raise
    except Exception as error:
        if len(items) > 1:  # run them one by one, so that only the failing item fails
            return [result for item in items for result in _run_batch(model, [item])]
        if isinstance(error, DocumentError):
            return [problem_of(error)]
        log_failure(_log, "the model failed", error)
        message = "the model failed on this document; see the log of the endpoint"
        return [Problem(code=Reason.INTERNAL.value, stage="model", message=message, retryable=True)]
    seconds = time.perf_counter() - started
    return [BatchResult(result, seconds, len(items)) for result in results]
