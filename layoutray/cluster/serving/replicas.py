"""The replicas behind the endpoint that run the model on batches.

A failure is returned as a `Problem`, not raised: a `Problem` can be sent between processes, and it fails only its own
page or document.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import torch
from ray import serve

from layoutray import checkpoint
from layoutray.answers import Entity, Problem
from layoutray.checkpoint import Checkpoint, Fetch
from layoutray.cluster import gpus
from layoutray.cluster.serving.failures import log_failure, problem_of
from layoutray.cluster.serving.schema import ServedPath
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.generation import Text, TextGenerator
from layoutray.inference import Extractor
from layoutray.selection import Selection
from layoutray.tasks import WritesTexts

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)

_MADE_UP_PAGE = Page(
    "", 1, 100, 100, (Word("1", Box(0.1, 0.1, 0.2, 0.2)),), "", "", "", Provenance("annotation", "made up")
)


@dataclass(frozen=True)
class BatchResult(Generic[Result]):
    """The model's result for one item, with the seconds and the size of its batch."""

    value: Result
    seconds: float
    batch_size: int


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A document for text generation: its pages in order, and whether to return the selected words."""

    pages: Sequence[Page]
    explain: bool


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """The model that the replicas have loaded.

    Attributes:
        path: where the endpoint serves it.
        writes: whether it reads whole documents and generates text (fields or a summary).
        fields: types of the document fields that it answers, by name.
        explains: whether it can return the selected words.
    """

    model_id: str
    model_version: str
    path: ServedPath
    writes: bool
    entity_types: tuple[str, ...]
    fields: Mapping[str, FieldType]
    explains: bool


def load_model(loaded: Checkpoint, beams: int, device: torch.device) -> Extractor | TextGenerator:
    """The model of a checkpoint, for inference on `device`.

    Args:
        beams: beam width of a model that generates text.

    Raises:
        CheckpointError: when the checkpoint was only pretrained.
    """
    if isinstance(loaded.recipe.task, WritesTexts):
        return TextGenerator(loaded, device, beams)
    return Extractor(loaded, loaded.recipe.name, device)


def served_path(model: Extractor | TextGenerator) -> ServedPath:
    """Path at which the endpoint serves `model`."""
    return "/v1/extract" if isinstance(model, Extractor) or model.fields else "/v1/summarize"


class ModelReplica:
    """Runs the model. Pages or documents of requests that arrive together share a batch.

    The constructor runs the model once, so that no request waits for what its first run prepares.
    """

    def __init__(self, name: str, fetch: Fetch, version: str, batch_size: int, batch_wait_s: float, beams: int) -> None:
        self._model = load_model(checkpoint.load(fetch(name)), beams, gpus.assigned_device())
        self._version = version or self._model.model_version
        self._one_run = threading.Lock()
        self._failed = False
        self._answer_made_up_page()
        batched: tuple[Any, Any] = (self.extract, self.summarize)  # Any: serve.batch adds the two methods called below
        for method in batched:
            method.set_max_batch_size(batch_size)
            method.set_batch_wait_timeout_s(batch_wait_s)

    async def describe(self) -> ModelDescription:
        model = self._model
        types = model.entity_types if isinstance(model, Extractor) else ()
        writes = isinstance(model, TextGenerator)
        explains = writes and model.shows_selection
        return ModelDescription(
            model.model_id, self._version, served_path(model), writes, types, model.fields, explains
        )

    async def check_health(self) -> None:
        """Raise if the model has failed on a document and now fails on a made-up page too; Serve replaces the replica.

        After some errors, for example of CUDA, a process can no longer use its GPU.
        """
        if self._failed:
            await asyncio.to_thread(self._answer_made_up_page)
            self._failed = False

    @serve.batch
    async def extract(self, pages: list[Page]) -> list[BatchResult[tuple[Entity, ...]] | Problem]:
        """Entities of each page. Only for an Extractor."""
        assert isinstance(self._model, Extractor)
        return await self._run(self._model.extract, pages)

    @serve.batch
    async def summarize(
        self, documents: list[WriteRequest]
    ) -> list[BatchResult[tuple[Text, Selection | None]] | Problem]:
        """The generated text of each document, with its selection if requested. Only for a TextGenerator."""
        assert isinstance(self._model, TextGenerator)
        return await self._run(partial(_generate, self._model), documents)

    async def _run(
        self, model: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
    ) -> list[BatchResult[Result] | Problem]:
        """Run a batch in a thread, so that the event loop can collect the next one. Batches run one at a time."""

        def run() -> list[BatchResult[Result] | Problem]:
            with self._one_run:
                return _run_batch(model, items)

        results = await asyncio.to_thread(run)
        self._failed |= any(isinstance(result, Problem) and result.code == Reason.INTERNAL for result in results)
        return results

    def _answer_made_up_page(self) -> None:
        with self._one_run:
            if isinstance(self._model, Extractor):
                self._model.extract([_MADE_UP_PAGE])
            else:
                self._model.write([[_MADE_UP_PAGE]])


def _generate(generator: TextGenerator, requests: Sequence[WriteRequest]) -> list[tuple[Text, Selection | None]]:
    to_explain = [request.pages for request in requests if request.explain]
    selections = iter(generator.selections(to_explain) if generator.shows_selection else ())
    texts = generator.write([request.pages for request in requests])
    return [
        (text, next(selections) if request.explain else None) for request, text in zip(requests, texts, strict=True)
    ]


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
