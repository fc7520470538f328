"""Latency and throughput of an endpoint for posted documents, and of the same OCR and model called in this process."""

import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

import numpy as np

from layoutray.document import Page
from layoutray.errors import DocumentError, InputError
from layoutray.ocr.isolated import IsolatedRecogniser

_TIMEOUT_SECONDS = 300.0

Send = Callable[[bytes], bool]
"""Has one document answered; returns whether it was answered without an error."""


@dataclass(frozen=True, slots=True)
class Load:
    """Latency and throughput of documents that `clients` clients sent, each one document after the other.

    Attributes:
        documents: answered without an error; latency and throughput are over these.
        failed: documents that were refused or failed.
        p50, p95: seconds from sending a document to its answer, median and 95th percentile.
        per_second: answered documents per second of all clients together.
    """

    clients: int
    documents: int
    failed: int
    p50: float
    p95: float
    per_second: float


class Endpoint:
    """A running endpoint at `url`, e.g. http://127.0.0.1:8000.

    Raises:
        InputError: when nothing answers there, or the answer is not that of `layoutray serve`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url!r} is not the URL of an endpoint; it must be like http://127.0.0.1:8000")
        self._connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, parts.port

    def path(self) -> str:
        """The path at which the served model answers documents."""
        connection = self._connection(self._host, self._port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/v1/models")
            return str(json.loads(connection.getresponse().read())["models"][0]["path"])
        except (OSError, HTTPException, ValueError, LookupError) as error:
            raise InputError(
                f"no model is served at {self._url} ({error}); start `layoutray serve`, or leave --url out"
            ) from error
        finally:
            connection.close()

    @contextmanager
    def client(self, path: str) -> Generator[Send]:
        """A function that posts a document to `path`, over one connection that is open during the block."""
        connection = self._connection(self._host, self._port, timeout=_TIMEOUT_SECONDS)

        def send(document: bytes) -> bool:
            boundary = secrets.token_hex(16)
            try:
                connection.request("POST", path, _multipart(document, boundary), _headers(boundary))
                response = connection.getresponse()
                response.read()
            except (OSError, HTTPException):
                connection.close()
                return False
            return response.status == 200

        try:
            yield send
        finally:
            connection.close()


def in_process(recogniser: IsolatedRecogniser, answer: Callable[[Sequence[Page]], object]) -> Send:
    """A function that reads all pages of a document and passes them to the model's `answer`, without HTTP and Ray."""

    def send(document: bytes) -> bool:
        try:
            pages = [_page(recogniser, document, n + 1) for n in range(recogniser.count_pages(document))]
        except DocumentError:
            return False
        answer(pages)
        return True

    return send


def measure_load(
    new_client: Callable[[], AbstractContextManager[Send]], documents: Sequence[bytes], clients: int
) -> Load:
    """Send every document once, from `clients` threads; each thread also sends the first one before the measurement.

    Args:
        new_client: called once for each thread.

    Raises:
        InputError: when no document was answered.
    """
    remaining: SimpleQueue[bytes] = SimpleQueue()
    for document in documents:
        remaining.put(document)
    barrier = threading.Barrier(clients)

    def work(_: int) -> tuple[float, list[float], int]:
        with new_client() as send:
            send(documents[0])
            barrier.wait()
            started, seconds, failed = time.perf_counter(), list[float](), 0
            while (document := _next(remaining)) is not None:
                sent = time.perf_counter()
                if send(document):
                    seconds.append(time.perf_counter() - sent)
                else:
                    failed += 1
        return started, seconds, failed

    with ThreadPoolExecutor(clients) as pool:
        results = list(pool.map(work, range(clients)))
    duration = time.perf_counter() - min(started for started, _, _ in results)
    seconds = list(itertools.chain.from_iterable(taken for _, taken, _ in results))
    if not seconds:
        raise InputError(f"none of {len(documents)} documents was answered; see the log of the endpoint")
    p50, p95 = np.percentile(seconds, [50, 95])
    failed = sum(count for _, _, count in results)
    return Load(clients, len(seconds), failed, float(p50), float(p95), len(seconds) / duration)


def _next(remaining: SimpleQueue[bytes]) -> bytes | None:
    try:
        return remaining.get_nowait()
    except Empty:
        return None


def _page(recogniser: IsolatedRecogniser, document: bytes, number: int) -> Page:
    read = recogniser.recognise(document, number)
    return Page("", number, read.width, read.height, read.words, "", "", "", read.provenance)


def _headers(boundary: str) -> dict[str, str]:
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def _multipart(document: bytes, boundary: str) -> bytes:
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="document"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode() + document + f"\r\n--{boundary}--\r\n".encode()
