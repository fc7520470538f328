"""Readers come while files wait and go when none does, over real HTTP; an endpoint that stops loses no document."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from layoutray.ocr.settings import Recognition
from layoutray.serving.settings import Scaling, ServeSettings
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import gathered, measured, rendered, serving
from tests.ocr.files import encoded

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.ocr]

FILES = 12


@pytest.fixture
def settings(tmp_path: Path, cluster: None, serve_port: int) -> ServeSettings:
    save_untrained(tmp_path / "checkpoint")
    return ServeSettings(
        str(tmp_path / "checkpoint"),
        recognition=Recognition(profile="fast"),
        max_ocr_replicas=2,
        scaling=Scaling(look_back_s=2, more_after_s=0.2, fewer_after_s=2),
        cpus_per_replica=0.2,
        port=serve_port,
    )


def readers(client: httpx.Client) -> float:
    return measured(client)['layoutray_replicas{kind="ocr"}']


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)


def posted(copies: int) -> dict[str, Any]:
    """A request with a page that has its text so many times."""
    page = rendered()[0]
    high = Image.new(page.mode, (page.width, copies * page.height))
    for number in range(copies):
        high.paste(page, (0, number * page.height))
    return {"url": "/v1/extract", "files": {"file": ("page", encoded(high, "PNG"))}}


def alone(url: httpx.URL, request: dict[str, Any]) -> httpx.Response:
    """The answer to a request of a client that stays open when the endpoint stops."""
    with httpx.Client(base_url=url, timeout=120) as client:
        return client.post(**request)


def test_readers_come_and_go_and_no_file_is_lost(settings: ServeSettings) -> None:
    answers: list[httpx.Response] = []
    stopping = threading.Event()

    def ask() -> None:
        """Keep a queue until there are two readers."""
        while not stopping.is_set():
            answers.extend(asyncio.run(gathered(client.base_url, [posted(1)] * FILES)))

    with serving(settings) as client:
        assert readers(client) == 1
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            wait_until(lambda: readers(client) == 2)
        finally:
            stopping.set()
            asking.join()
        wait_until(lambda: readers(client) == 1)
        assert {answer.status_code for answer in answers} == {200}
        last = threading.Thread(target=lambda: answers.append(alone(client.base_url, posted(4))))
        last.start()
        wait_until(lambda: measured(client)["layoutray_requests_in_flight"] == 1)
        started = len(answers)
    last.join()
    assert (started, answers[-1].status_code) == (len(answers) - 1, 200), "it was in flight when the endpoint stopped"
