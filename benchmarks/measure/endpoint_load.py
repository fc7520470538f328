"""Latency and throughput of an endpoint for posted documents, and of the same OCR and model called in this process."""

import itertools
import json
import secrets
import statistics
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, SimpleQueue
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np

from layoutray.document import Page
from layoutray.errors import DocumentError, InputError
from layoutray.ocr.isolated import IsolatedRecogniser

_TIMEOUT_SECONDS = 300.0

Item = TypeVar("Item")
Send = Callable[[Item], bytes | None]
"""Has one document answered; returns the body of the answer, empty without an endpoint; None when it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Latency and throughput of documents that `clients` clients sent, each one document after the other.

    Attributes:
        documents: answered without an error; the other figures are over these.
        failed: documents that were refused or failed.
        p50, p95: seconds from sending a document to its answer, median and 95th percentile.
        per_second: answered documents per second of all clients together.
        timings: milliseconds of each stage that the answers state (`timings`), median over the documents.
    """

    clients: int
    documents: int
    failed: int
    p50: float
    p95: float
    per_second: float
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Post:
    """The body of a request with its type."""

    body: bytes
    content_type: str


def post_of_file(document: bytes) -> Post:
    """The request that sends a file."""
    boundary = secrets.token_hex(16)
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="document"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = head.encode() + document + f"\r\n--{boundary}--\r\n".encode()
    return Post(body, f"multipart/form-data; boundary={boundary}")


def post_of_words(pages: Sequence[Page]) -> Post:
    """The request that sends the words of pages with their boxes."""
    shown = [
        {
            "width": page.width,
            "height": page.height,
            "words": [{"text": word.text, "box": word.box.to_pixels(page.width, page.height)} for word in page.words],
        }
        for page in pages
    ]
    return Post(json.dumps({"pages": shown}).encode(), "application/json")


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
    def client(self, path: str) -> Generator[Send[Post]]:
        """A function that posts to `path`, over one connection that is open during the block."""
        connection = self._connection(self._host, self._port, timeout=_TIMEOUT_SECONDS)

        def send(post: Post) -> bytes | None:
            try:
                connection.request("POST", path, post.body, {"Content-Type": post.content_type})
                response = connection.getresponse()
                body = response.read()
            except (OSError, HTTPException):
                connection.close()
                return None
            return body if response.status == 200 else None

        try:
            yield send
        finally:
            connection.close()


def read_pages(recogniser: IsolatedRecogniser, document: bytes) -> list[Page]:
    """All pages of a file. Raises DocumentError."""
    return [_page(recogniser, document, n + 1) for n in range(recogniser.count_pages(document))]


def in_process(recogniser: IsolatedRecogniser, answer: Callable[[Sequence[Page]], object]) -> Send[bytes]:
    """A function that reads all pages of a document and passes them to the model's `answer`, without HTTP and Ray."""

    def send(document: bytes) -> bytes | None:
        try:
            pages = read_pages(recogniser, document)
        except DocumentError:
            return None
        answer(pages)
        return b""

    return send


def measure_load(
    new_client: Callable[[], AbstractContextManager[Send[Item]]], documents: Sequence[Item], clients: int
) -> Load:
    """Send every document once, from `clients` threads; each thread also sends the first one before the measurement.

    Args:
        new_client: called once for each thread.

    Raises:
        InputError: when no document was answered.
    """
    remaining: SimpleQueue[Item] = SimpleQueue()
    for document in documents:
        remaining.put(document)
    barrier = threading.Barrier(clients)

    def work(_: int) -> tuple[float, list[tuple[float, bytes]], int]:
        with new_client() as send:
            send(documents[0])
            barrier.wait()
            started, answers, failed = time.perf_counter(), list[tuple[float, bytes]](), 0
            for document in _taken(remaining):
                sent = time.perf_counter()
                answer = send(document)
                if answer is None:
                    failed += 1
                else:
                    answers.append((time.perf_counter() - sent, answer))
        return started, answers, failed

    with ThreadPoolExecutor(clients) as pool:
        results = list(pool.map(work, range(clients)))
    duration = time.perf_counter() - min(started for started, _, _ in results)
    answers = list(itertools.chain.from_iterable(of_client for _, of_client, _ in results))
    if not answers:
        raise InputError(f"none of {len(documents)} documents was answered; see the log of the endpoint")
    p50, p95 = np.percentile([seconds for seconds, _ in answers], [50, 95])
    failed = sum(count for _, _, count in results)
    timings = _timings([body for _, body in answers])
    return Load(
        clients=clients,
        documents=len(answers),
        failed=failed,
        p50=float(p50),
        p95=float(p95),
        per_second=len(answers) / duration,
        timings=timings,
    )


def measure_batches(answer: Callable[[Sequence[Item]], object], documents: Sequence[Item], batch_size: int) -> Load:
    """Throughput of the model in this process, on full batches one after the other. Latencies are those of a batch."""

    def send(batch: Sequence[Item]) -> bytes:
        answer(batch)
        return b""

    batches = [documents[start : start + batch_size] for start in range(0, len(documents), batch_size)]
    load = measure_load(lambda: nullcontext(send), batches, 1)
    return replace(load, documents=len(documents), per_second=load.per_second * len(documents) / len(batches))


def _timings(bodies: Sequence[bytes]) -> dict[str, float]:
    stated: list[dict[str, float]] = [json.loads(body)["timings"] for body in bodies if body]
    return {stage: statistics.median(of[stage] for of in stated) for stage in (stated[0] if stated else ())}


def _taken(remaining: SimpleQueue[Item]) -> Generator[Item]:
    while True:
        try:
            yield remaining.get_nowait()
        except Empty:
            return


def _page(recogniser: IsolatedRecogniser, document: bytes, number: int) -> Page:
    return recogniser.recognise(document, number).of_document("", "")
