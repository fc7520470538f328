"""The replicas behind the endpoint that run the model on batches.

A failure is returned as a `Problem`, not raised: a `Problem` can be sent between processes, and it fails only its own
page or document.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from layoutray.answers import Entity, Problem
from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus
from layoutray.cluster.serving import failures
from layoutray.cluster.serving.failures import log_failure, problem_of
from layoutray.cluster.serving.loaded_versions import LoadedVersions
from layoutray.cluster.serving.model_version import ModelDescription, Refusal, Version, VersionError
from layoutray.cluster.serving.request_log import write_with_serve
from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.generation import Text, TextGenerator
from layoutray.inference import Extractor
from layoutray.selection import Selection

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
    """A page for a model that tags words, and the version that is to answer it."""

    version: Version
    page: Page


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A document for text generation: its pages in order, and whether to return the selected words.

    Attributes:
        version: the version that is to answer it.
    """

    version: Version
    pages: Sequence[Page]
    explain: bool


Request = PageRequest | WriteRequest
ModelResult = BatchResult[Any] | Problem
"""Of a PageRequest: its entities. Of a WriteRequest: the generated text, and its selection if requested."""


class ModelReplica:
    """Runs the model on batches, one at a time."""

    def __init__(self, first: Version, fetch: Fetch, beams: int) -> None:
        write_with_serve()
        self._versions = LoadedVersions(first, fetch, beams, gpus.assigned_device())
        self._one_run = threading.Lock()
        self._failed = False

    async def describe(self) -> ModelDescription:
        """The served version."""
        return self._versions.served.description

    async def load(self, version: Version) -> ModelDescription | Refusal:
        """Load a version beside the served one, unless it is loaded already."""
        try:
            return (await self._versions.get(version)).description
        except VersionError as error:
            return error.refusal

    async def keep(self, versions: Sequence[Version]) -> None:
        """Hold exactly `versions` in memory; the first of them is the served one."""
        await self._versions.keep(versions)

    async def check_health(self) -> None:
        """Raise if the model has failed on a document and now fails on its example too; Serve replaces the replica.

        After some errors, for example of CUDA, a process can no longer use its GPU.
        """
        if self._failed:
            await asyncio.to_thread(self._answer_example)
            self._failed = False

    async def answer(self, requests: Sequence[Request]) -> list[ModelResult]:
        """The result of each request, from the version that it names. Requests for different versions share no run."""
        answered: dict[int, ModelResult] = {}
        for version in dict.fromkeys(request.version for request in requests):
            numbers = [number for number, request in enumerate(requests) if request.version == version]
            try:
                model = (await self._versions.get(version)).model
            except VersionError:
                answered |= dict.fromkeys(numbers, _version_gone())
                continue
            group = [requests[number] for number in numbers]
            run = _extract if isinstance(model, Extractor) else _generate
            answered |= zip(numbers, await self._run(partial(run, model), group), strict=True)
        return [answered[number] for number in range(len(requests))]

    async def _run(
        self, model: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
    ) -> list[BatchResult[Result] | Problem]:
        """Run a batch in a thread, so that the event loop goes on. Batches run one at a time."""

        def run() -> list[BatchResult[Result] | Problem]:
            with self._one_run:
                return _run_batch(model, items)

        results = await asyncio.to_thread(run)
        self._failed |= any(isinstance(result, Problem) and result.code == Reason.INTERNAL for result in results)
        return results

    def _answer_example(self) -> None:
        with self._one_run:
            self._versions.served.answer_example()


def _extract(extractor: Extractor, requests: Sequence[PageRequest]) -> list[tuple[Entity, ...]]:
    return extractor.extract([request.page for request in requests])


def _generate(generator: TextGenerator, requests: Sequence[WriteRequest]) -> list[tuple[Text, Selection | None]]:
    to_explain = [request.pages for request in requests if request.explain]
    selections = iter(generator.selections(to_explain) if generator.shows_selection else ())
    texts = generator.write([request.pages for request in requests])
    return [
        (text, next(selections) if request.explain else None) for request, text in zip(requests, texts, strict=True)
    ]


def _version_gone() -> Problem:
    message = "the version of the model that was to answer cannot be loaded any more; try again"
    return Problem(failures.UNAVAILABLE, "model", message, True)


def _run_batch(
    model: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
) -> list[BatchResult[Result] | Problem]:
    started = time.perf_counter()
    try:
        results = model(items)
    except Exception as error:
        if len(items) > 1:  # run them one by one, so that only the failing item fails
            return [result for item in items for result in _run_batch(model, [item])]
        return [_model_problem(error)]
    seconds = time.perf_counter() - started
    return [BatchResult(result, seconds, len(items)) for result in results]


def _model_problem(error: Exception) -> Problem:
    if isinstance(error, DocumentError):
        return problem_of(error)
    log_failure(_log, "the model failed", error)
    return Problem(
        Reason.INTERNAL.value, "model", "the model failed on this document; see the log of the endpoint", True
    )
