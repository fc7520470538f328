"""The replicas behind the endpoint that run OCR on pages. This module does not import PyTorch: readers need no model.

A failure is returned as a `Problem`, as in `replicas`.
"""

import asyncio
import io
import time

from PIL import Image

from layoutray.document.answers import Problem
from layoutray.errors import DocumentError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.serving.failures import problem_of
from layoutray.serving.outcome import Outcome
from layoutray.serving.request_log import write_with_serve


class PageReader:
    """Runs OCR in a child process, one page at a time."""

    def __init__(self, recognition: Recognition) -> None:
        write_with_serve()
        self._recogniser = IsolatedRecogniser(recognition)
        # Load the engine before the replica is ready: a missing engine must fail the start, not a request.
        blank = io.BytesIO()
        Image.new("L", (200, 100), 255).save(blank, "PNG")
        self._recogniser.recognise(blank.getvalue(), 1)

    async def count_pages(self, data: bytes) -> int | Problem:
        try:
            return await asyncio.to_thread(self._recogniser.count_pages, data)
        except DocumentError as error:
            return problem_of(error)

    async def read(self, data: bytes, number: int, doc_id: str, source: str) -> Outcome:
        """A page of a file with its words, or why it cannot be read."""
        started = time.perf_counter()
        try:
            page = await asyncio.to_thread(self._recogniser.recognise, data, number)
        except DocumentError as error:
            return Outcome(page=None, problem=problem_of(error, number))
        return Outcome(page=page.of_document(doc_id, source), ocr=time.perf_counter() - started)

    def __del__(self) -> None:
        self._recogniser.close()
