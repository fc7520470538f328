"""Limits of the endpoint: upload size, pages, time, and documents in flight."""

import asyncio
import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from layoutray.errors import ApiError, InputError
from layoutray.serving.options import option

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one endpoint.

    Attributes:
        max_upload_bytes: largest request body; a larger one is refused with 413 as soon as the limit is passed.
        max_pages: most pages of a document; a longer document is refused with 413.
        timeout_s: seconds a document may take, upload and queueing included; after that the answer is 504.
        max_queued_requests: queue length for files, beyond one for each OCR replica, and for documents of words, beyond
            a full batch for each model replica. Further documents are refused with 503 before their bodies are read.
        max_job_files, max_job_bytes: files of one job, and their sum with the envelope; no file is larger than
            `max_upload_bytes`.
        max_waiting_documents: documents of all jobs that may wait; further jobs are refused with 503.
        keep_jobs_s: seconds after its end at which a job is deleted with its results.
    """

    max_upload_bytes: int = 20 * 2**20
    max_pages: int = 50
    timeout_s: float = option(60.0, "seconds per document (default: %(default)s)", flag="--timeout")
    max_queued_requests: int = 32
    max_job_files: int = 1000
    max_job_bytes: int = 200 * 2**20
    max_waiting_documents: int = 10_000
    keep_jobs_s: float = option(
        24 * 3600.0,
        "delete a job so long after its end (default: %(default)s)",
        flag="--keep-jobs",
        metavar="HOURS",
        unit=3600,
    )

    def __post_init__(self) -> None:
        if self.max_queued_requests < 0:
            raise InputError(f"max_queued_requests is {self.max_queued_requests}; it must be 0 or more")
        for name in {limit.name for limit in fields(self)} - {"max_queued_requests"}:
            value = getattr(self, name)
            if not (0 < value < math.inf):
                raise InputError(f"{name} is {value}; it must be a finite number above 0")


class Admission:
    """Limits the documents in flight. This bounds all later queues and the memory that uploads take.

    Args:
        max_in_flight: gives the number of documents that may be in flight at once.
    """

    def __init__(self, max_in_flight: Callable[[], int]) -> None:
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._stopping = False

    @contextmanager
    def enter(self) -> Generator[None]:
        """Count one document as in flight during the block.

        Raises:
            ApiError: 503 when too many documents are in flight, and after `drain`.
        """
        most = self._max_in_flight()
        if self._stopping:
            message = "the endpoint stops; send the document again when it has started again"
            raise ApiError(503, "stopping", message, retryable=True)
        if self._in_flight >= most:
            message = f"{self._in_flight} documents are in flight; at most {most} are allowed; try again later"
            raise ApiError(503, "overloaded", message, retryable=True)
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    async def drain(self) -> None:
        """Refuse further documents, and wait until none is in flight."""
        self._stopping = True
        while self._in_flight:
            await asyncio.sleep(_LOOK_SECONDS)
