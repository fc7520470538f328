"""The two kinds of worker behind the endpoint: one reads words off a page, one runs the model on batches of pages or documents.

What can go wrong with one of them comes back as a `Problem`, not as an exception: it crosses processes whole, and costs that one alone.
"""

import asyncio
import io
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from PIL import Image
from ray import serve

from layoutray import checkpoint
from layoutray.answers import Entity, Problem
from layoutray.checkpoint import Checkpoint
from layoutray.cluster.serving.failures import problem_of
from layoutray.cluster.serving.schema import ServedPath
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.generation import Text, TextGenerator
from layoutray.inference import Extractor
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition
from layoutray.selection import Selection
from layoutray.tasks import WritesTexts
from layoutray.training import world

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its words, and the seconds that reading took."""

    page: RecognisedPage
    seconds: float


@dataclass(frozen=True)
class BatchResult(Generic[Result]):
    """What the model says of one item, and the seconds and number of items of the batch that it was in."""

    value: Result
    seconds: float
    batch_size: int


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A document to write about, as its pages in order, and whether to tell what was kept of it."""

    pages: Sequence[Page]
    explain: bool


@dataclass(frozen=True, slots=True)
class Model:
    """What a replica has loaded; `writes` is whether it reads whole documents and writes about them, fields or a summary."""

    model_id: str
    model_version: str
    path: ServedPath
    writes: bool
    entity_types: tuple[str, ...]
    fields: Mapping[str, FieldType]
    explains: bool


class PageReader:
    """Reads pages in a child process of its own, one at a time."""

    def __init__(self, recognition: Recognition) -> None:
        self._recogniser = IsolatedRecogniser(recognition)
        # Loads the engine before the replica counts as ready, and a missing one stops the start rather than a request.
        self._recogniser.recognise(_blank_page(), 1)

    async def count_pages(self, data: bytes) -> int | Problem:
        return await _guarded(lambda: self._recogniser.count_pages(data), None)

    async def read(self, data: bytes, number: int) -> ReadPage | Problem:
        started = time.perf_counter()
        page = await _guarded(lambda: self._recogniser.recognise(data, number), number)
        return page if isinstance(page, Problem) else ReadPage(page, time.perf_counter() - started)

    def __del__(self) -> None:
        self._recogniser.close()


def ready(loaded: Checkpoint, beams: int) -> Extractor | TextGenerator:
    """The model of a checkpoint as its task answers: by entities, or by a text. Raises CheckpointError for one that was only pretrained."""
    if isinstance(loaded.recipe.task, WritesTexts):
        return TextGenerator(loaded, world.single_process().device, beams)
    return Extractor(loaded, loaded.recipe.name, world.single_process().device)


def path_of(model: Extractor | TextGenerator) -> ServedPath:
    """Where the endpoint answers documents with `model`."""
    return "/v1/extract" if isinstance(model, Extractor) or model.fields else "/v1/summarize"


class ModelReplica:
    """Holds the model; pages, or documents, of different requests that come close together share a batch."""

    def __init__(self, folder: str, version: str, batch_size: int, batch_wait_s: float, beams: int) -> None:
        self._model = ready(checkpoint.load(folder), beams)
        self._version = version or self._model.model_version
        batched: tuple[Any, Any] = (self.extract, self.summarize)  # serve.batch adds what is called here
        for method in batched:
            method.set_max_batch_size(batch_size)
            method.set_batch_wait_timeout_s(batch_wait_s)

    async def describe(self) -> Model:
        model = self._model
        types = model.entity_types if isinstance(model, Extractor) else ()
        writes = isinstance(model, TextGenerator)
        explains = writes and model.shows_selection
        return Model(model.model_id, self._version, path_of(model), writes, types, model.fields, explains)

    @serve.batch
    async def extract(self, pages: list[Page]) -> list[BatchResult[tuple[Entity, ...]] | Problem]:
        """Entities of pages; asked of an extractor alone."""
        assert isinstance(self._model, Extractor)
        # In a thread: the event loop goes on taking the next batch's pages. One batch at a time, so one thread at a time.
        return await asyncio.to_thread(_answered, self._model.extract, pages)

    @serve.batch
    async def summarize(
        self, documents: list[WriteRequest]
    ) -> list[BatchResult[tuple[Text, Selection | None]] | Problem]:
        """Texts about documents, and what was kept of those to explain; asked of a writer alone."""
        assert isinstance(self._model, TextGenerator)
        return await asyncio.to_thread(_answered, partial(_summarized, self._model), documents)


def _summarized(writer: TextGenerator, documents: Sequence[WriteRequest]) -> list[tuple[Text, Selection | None]]:
    kept = iter(writer.selections([one.pages for one in documents if one.explain]) if writer.shows_selection else ())
    texts = writer.write([one.pages for one in documents])
    return [(text, next(kept) if one.explain else None) for one, text in zip(documents, texts, strict=True)]


def _answered(
    answer: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
) -> list[BatchResult[Result] | Problem]:
    started = time.perf_counter()
    try:
        said = answer(items)
    except Exception as error:
        if len(items) > 1:  # find the culprit: the others must not suffer for it
            return [result for item in items for result in _answered(answer, [item])]
        return [_model_problem(error)]
    seconds = time.perf_counter() - started
    return [BatchResult(one, seconds, len(items)) for one in said]


async def _guarded(work: Callable[[], Result], page_number: int | None) -> Result | Problem:
    try:
        return await asyncio.to_thread(work)
    except DocumentError as error:
        return problem_of(error, page_number)


def _model_problem(error: Exception) -> Problem:
    if isinstance(error, DocumentError):
        return problem_of(error)
    _log.exception("the model failed", exc_info=error)
    return Problem(Reason.INTERNAL.value, "model", "the model failed on this; the log has the cause", True)


def _blank_page() -> bytes:
    stream = io.BytesIO()
    Image.new("L", (200, 100), 255).save(stream, "PNG")
    return stream.getvalue()
