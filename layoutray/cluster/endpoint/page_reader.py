"""The replicas behind the endpoint that run OCR on pages. This module does not import PyTorch: readers need no model.

A failure is returned as a `Problem`, as in `replicas`.
"""

import asyncio
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from PIL import Image

from layoutray.document.answers import Problem
from layoutray.errors import DocumentError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition
from layoutray.serving.failures import problem_of
from layoutray.serving.request_log import write_with_serve

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its words, and the seconds that OCR took."""

    page: RecognisedPage
    seconds: float


class PageReader:
    """Runs OCR in a child process, one page at a time."""

    def __init__(self, recognition: Recognition) -> None:
        write_with_serve()
        self._recogniser = IsolatedRecogniser(recognition)
        # Load the engine before the replica is ready: a missing engine must fail the start, not a request.
        self._recogniser.recognise(_blank_page(), 1)

    async def count_pages(self, data: bytes) -> int | Problem:
        return await _run_in_thread(lambda: self._recogniser.count_pages(data), None)

    async def read(self, data: bytes, number: int) -> ReadPage | Problem:
        started = time.perf_counter()
        page = await _run_in_thread(lambda: self._recogniser.recognise(data, number), number)
        return page if isinstance(page, Problem) else ReadPage(page, time.perf_counter() - started)

    def __del__(self) -> None:
        self._recogniser.close()


async def _run_in_thread(work: Callable[[], Result], page_number: int | None) -> Result | Problem:
    try:
        return await asyncio.to_thread(work)
    except DocumentError as error:
        return problem_of(error, page_number)


def _blank_page() -> bytes:
    stream = io.BytesIO()
    Image.new("L", (200, 100), 255).save(stream, "PNG")
    return stream.getvalue()
