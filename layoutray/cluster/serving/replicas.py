"""The two kinds of worker behind the endpoint: one reads words off a page, one runs the model on batches of pages.

What can go wrong with a page comes back as a `Problem`, not as an exception: it crosses processes whole, and costs that page alone.
"""

import asyncio
import io
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from PIL import Image
from ray import serve

from layoutray.answers import Entity, Problem
from layoutray.cluster.serving.failures import problem_of
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.inference import Extractor
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its words, and the seconds that reading took."""

    page: RecognisedPage
    seconds: float


@dataclass(frozen=True, slots=True)
class Extracted:
    """Entities of one page, and the seconds and number of pages of the batch that it was in."""

    entities: tuple[Entity, ...]
    seconds: float
    batch_pages: int


@dataclass(frozen=True, slots=True)
class Model:
    """What a replica has loaded."""

    model_id: str
    model_version: str
    entity_types: tuple[str, ...]
    fields: Mapping[str, FieldType]


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


class ExtractorReplica:
    """Holds the model; pages of different requests that come close together share a batch."""

    def __init__(self, checkpoint: str, version: str, batch_size: int, batch_wait_s: float) -> None:
        self._extractor = Extractor.load(checkpoint)
        self._version = version or self._extractor.model_version
        self.extract.set_max_batch_size(batch_size)  # pyright: ignore[reportAttributeAccessIssue]  (serve.batch adds it)
        self.extract.set_batch_wait_timeout_s(batch_wait_s)  # pyright: ignore[reportAttributeAccessIssue]  (likewise)

    async def describe(self) -> Model:
        return Model(self._extractor.model_id, self._version, self._extractor.entity_types, self._extractor.fields)

    @serve.batch
    async def extract(self, pages: list[Page]) -> list[Extracted | Problem]:
        # In a thread: the event loop goes on taking the next batch's pages. One batch at a time, so one thread at a time.
        return await asyncio.to_thread(self._extract, pages)

    def _extract(self, pages: Sequence[Page]) -> list[Extracted | Problem]:
        started = time.perf_counter()
        try:
            found = self._extractor.extract(pages)
        except Exception as error:
            if len(pages) > 1:  # find the culprit: the others must not suffer for it
                return [result for page in pages for result in self._extract([page])]
            return [_model_problem(error, pages[0].number)]
        seconds = time.perf_counter() - started
        return [Extracted(entities, seconds, len(pages)) for entities in found]


async def _guarded(work: Callable[[], Result], page_number: int | None) -> Result | Problem:
    try:
        return await asyncio.to_thread(work)
    except DocumentError as error:
        return problem_of(error, page_number)


def _model_problem(error: Exception, page_number: int) -> Problem:
    if isinstance(error, DocumentError):
        return problem_of(error, page_number)
    _log.exception("the model failed on a page", exc_info=error)
    return Problem(Reason.INTERNAL.value, "model", "the model failed on this page; the log has the cause", True, page_number)


def _blank_page() -> bytes:
    stream = io.BytesIO()
    Image.new("L", (200, 100), 255).save(stream, "PNG")
    return stream.getvalue()
