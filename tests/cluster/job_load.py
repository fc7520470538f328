"""A client that sends jobs without end, forgets some of them, and repeats each request until it is answered."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from layoutray.synthetic.render import render_page
from tests.ocr.files import encoded, pdf, typed

File = tuple[str, tuple[str, bytes]]
_PATIENCE = 1800.0
_ANSWERS = (200, 202, 204, 404)


@dataclass
class SentJob:
    """A job that the endpoint has accepted. `fate`: what the client has asked for: keep, cancel or delete."""

    id: str
    key: str
    files: list[File]
    pages: int
    fate: str


@dataclass
class JobLoad:
    """Attributes:
    url: of the endpoint.
    webhook: URL that each job names.
    waiting: jobs that may wait before the next is sent.
    """

    url: str
    webhook: str
    random: Random
    waiting: int = 4
    jobs: list[SentJob] = field(default_factory=list[SentJob])
    answers: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self._client = httpx.Client(base_url=self.url, timeout=20)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Send no more jobs. Raises what has failed."""
        self._stopped.set()
        self._thread.join(_PATIENCE)
        if self.failure:
            raise self.failure

    def close(self) -> None:
        self._client.close()

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The answer to a request, which is repeated while the endpoint is down or overloaded."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                response = self._client.request(method, path, **more)
            except httpx.TransportError as error:
                self.answers[type(error).__name__] += 1
            else:
                self.answers[str(response.status_code)] += 1
                if response.status_code in _ANSWERS:
                    return response
                assert response.status_code >= 500, response.text
            time.sleep(0.2)
        raise AssertionError(f"{method} {path} was not answered")

    def submit(self, key: str, files: list[File]) -> httpx.Response:
        headers = {"Idempotency-Key": key}
        return self.ask("POST", "/v1/jobs", files=files, data={"webhook": self.webhook}, headers=headers)

    def _send(self) -> None:
        try:
            while not self._stopped.is_set():
                if self._num_running() < self.waiting:
                    self._send_one(len(self.jobs))
                time.sleep(0.1)
        except BaseException as error:
            self.failure = error

    def _num_running(self) -> int:
        states = [self.ask("GET", f"/v1/jobs/{job.id}").json().get("state") for job in self.jobs[-2 * self.waiting :]]
        return states.count("running")

    def _send_one(self, number: int) -> None:
        files, pages = _documents(number, self.random)
        fate = self.random.choices(("keep", "cancel", "delete"), (8, 1, 1))[0]
        job = self.submit(f"job {number}", files).json()["id"]
        if fate == "cancel":
            self.ask("POST", f"/v1/jobs/{job}/cancel")
        elif fate == "delete":
            self.ask("DELETE", f"/v1/jobs/{job}")
        self.jobs.append(SentJob(job, f"job {number}", files, pages, fate))


def _documents(number: int, random: Random) -> tuple[list[File], int]:
    """Files of a job, one to four, and their pages: PDFs with text of up to three pages, and sometimes a picture."""
    files: list[File] = []
    pages = 0
    for position in range(random.randint(1, 4)):
        length = random.randint(0, 3)
        if length:
            texts = [f"total {number} {position} {page} cash 7" for page in range(length)]
            data = pdf(*(typed(text, x=9, y=700) for text in texts))
        else:
            data = encoded(render_page(Random(f"{number} {position}"))[0], "PNG")
        files.append(("file", (f"{number}-{position}", data)))
        pages += length or 1
    return files, pages
