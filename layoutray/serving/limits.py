"""Limits of the endpoint: upload size, pages, time, and documents in flight."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from layoutray.document import Page
from layoutray.errors import ApiError, InputError
from layoutray.serving.options import option

_LOOK_SECONDS = 0.05
_LENGTH = 10
"""Characters of a word, on average."""

_QUOTA_WORDS = 2_000


def _hours(text: str) -> float:
    """Hours in seconds."""
    return float(text) * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one endpoint.

    Attributes:
        max_upload_bytes: largest request body; a larger one is refused with 413 as soon as the limit is passed.
        max_pages: most pages of a document; a longer document is refused with 413.
        max_page_words, max_words: most words of a page and of a document, whoever has read them. They may have 10
            characters on average, as the model's time grows with tokens. More are refused with 413.
        max_word_length: most characters of a word; a longer one is refused with 413.
        timeout_s: seconds a document may take, upload and queueing included; after that the answer is 504.
        max_queued_requests: queue length for files, beyond one for each OCR replica, and for documents of words, beyond
            a full batch for each model replica. Further documents are refused with 503 before their bodies are read.
        max_job_files, max_job_bytes: files of one job, and their sum with the envelope; no file is larger than
            `max_upload_bytes`.
        max_waiting_documents: documents of all jobs of a key that may wait; further ones are refused with 503.
        keep_jobs_s: seconds after its end at which a job is deleted with its results.
    """

    max_upload_bytes: int = 20 * 2**20
    max_pages: int = 50
    max_page_words: int = option("--max-page-words", 10_000, "most words of a page (default: %(default)s)", metavar="N")
    max_words: int = option("--max-words", 50_000, "most words of a document (default: %(default)s)", metavar="N")
    max_word_length: int = option(
        "--max-word-length", 1_000, "most characters of a word (default: %(default)s)", metavar="N"
    )
    timeout_s: float = option("--timeout", 60.0, "seconds per document (default: %(default)s)")
    max_queued_requests: int = 32
    max_job_files: int = 1000
    max_job_bytes: int = 200 * 2**20
    max_waiting_documents: int = 10_000
    keep_jobs_s: float = option(
        "--keep-jobs", 24 * 3600.0, "delete a job so long after its end (default: 24)", type=_hours, metavar="HOURS"
    )

    def __post_init__(self) -> None:
        if self.max_queued_requests < 0:
            raise InputError(f"max_queued_requests is {self.max_queued_requests}; it must be 0 or more")
        for name in {limit.name for limit in fields(self)} - {"max_queued_requests"}:
            value = getattr(self, name)
            if not (0 < value < math.inf):
                raise InputError(f"{name} is {value}; it must be a finite number above 0")


class WordCount:
    """Counts the words of a document before a model reads them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._words = self._characters = 0

    def add(self, page: int, words: Sequence[str]) -> None:
        """Count the words of a page.

        Raises:
            ApiError: 413 when a word is too long, or the page or the document has too many words or characters.
        """
        limits, length = self._limits, sum(map(len, words))
        self._words += len(words)
        self._characters += length
        longest = max(map(len, words), default=0)
        _require(longest, limits.max_word_length, f"a word of page {page} has", "characters")
        for what, number, most in (
            (f"page {page} has", (len(words), length), limits.max_page_words),
            ("the document has", (self._words, self._characters), limits.max_words),
        ):
            _require(number[0], most, what, "words")
            _require(number[1], most * _LENGTH, what, "characters in its words")


def quota_pages(pages: Sequence[Page]) -> int:
    """As how many pages the client's words count: a page for each 2,000 words or part of them, and at least one."""
    return sum(max(math.ceil(len(page.words) / _QUOTA_WORDS), 1) for page in pages)


def _require(value: int, most: int, what: str, unit: str) -> None:
    if value > most:
        raise ApiError(413, "too_large", f"{what} {value} {unit}; at most {most} are allowed; send less at once")


class Admission:
    """Limits the documents in flight. This bounds all later queues and the memory that uploads take.

    An owner may have at most as many as there are free places (the dynamic threshold of Choudhury and Hahne, 1998). So
    one that sends as much as it can leaves half of the places, and n such owners leave one of n + 1. Documents without
    owner, at an endpoint without keys, may have all places.

    Args:
        max_in_flight: gives the number of documents that may be in flight at once.
    """

    def __init__(self, max_in_flight: Callable[[], int]) -> None:
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._owned = Counter[str]()
        self._stopping = False

    @contextmanager
    def enter(self, owner: str = "") -> Generator[None]:
        """Count one document as in flight during the block.

        Raises:
            ApiError: 503 when too many documents are in flight, of all or of this owner, and after `drain`.
        """
        most = self._max_in_flight()
        if self._stopping:
            message = "the endpoint stops; send the document again when it has started again"
            raise ApiError(503, "stopping", message, retryable=True)
        if self._in_flight >= most:
            message = f"{self._in_flight} documents are in flight; at most {most} are allowed; try again later"
            raise ApiError(503, "overloaded", message, retryable=True)
        if owner and self._owned[owner] >= most - self._in_flight:
            message = (
                f"{self._owned[owner]} documents of key {owner} are in flight, and {most - self._in_flight} places are "
                "left for all keys; try again later"
            )
            raise ApiError(503, "overloaded", message, retryable=True)
        self._in_flight += 1
        self._owned[owner] += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._owned[owner] -= 1
            self._owned += Counter()  # forgets owners without documents

    async def drain(self) -> None:
        """Refuse further documents, and wait until none is in flight."""
        self._stopping = True
        while self._in_flight:
            await asyncio.sleep(_LOOK_SECONDS)
