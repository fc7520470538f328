"""A long proof: requests at a fixed rate for two minutes, through three changes of version and a broken version."""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from layoutray.ocr.settings import Recognition
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from tests.cluster.registry import Registry, broken, found_in
from tests.cluster.test_serve_versions import BODY, PAGES

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SECONDS = 120
_TURN_SECONDS = 4
"""Time between two requests of one client. An answer that takes longer delays the next request of its client."""


@dataclass(frozen=True)
class Rate:
    """Documents of the first `pages` pages of BODY, sent `per_second`."""

    pages: int
    per_second: int


RATES = [Rate(pages=1, per_second=50), Rate(pages=3, per_second=20)]
"""50 documents of three pages a second need more than two cores."""


@dataclass(frozen=True)
class Answer:
    """The status and body of an answer, and how late its request was sent."""

    status: int
    body: dict[str, Any]
    late: float


def answers_at_a_rate(
    url: httpx.URL, rate: Rate, changes: Sequence[tuple[float, str]], registry: Registry
) -> list[Answer]:
    """The answers to requests that are sent at fixed times.

    The threads of the clients take turns, each with a connection of its own. They need little processor time, so that
    the endpoint has the rest.

    Args:
        changes: seconds after the start, and the version that the alias names from then on.
    """
    body = json.dumps({"pages": BODY["pages"][: rate.pages]})
    started = time.monotonic() + 1
    threads = _TURN_SECONDS * rate.per_second

    def send(first: int) -> list[Answer]:
        answers: list[Answer] = []
        with closing(HTTPConnection(url.host, url.port, timeout=60)) as connection:
            for number in range(first, SECONDS * rate.per_second, threads):
                due = started + number / rate.per_second
                time.sleep(max(due - time.monotonic(), 0))
                late = time.monotonic() - due
                connection.request("POST", "/v1/extract", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answers.append(Answer(response.status, json.loads(response.read()), late))
        return answers

    def change(after: float, version: str) -> None:
        time.sleep(started + after - time.monotonic())
        registry.point(version)

    with ThreadPoolExecutor(threads + len(changes)) as pool:
        changed = [pool.submit(change, *one) for one in changes]
        answers = [answer for of_one in pool.map(send, range(threads)) for answer in of_one]
        for one in changed:
            one.result()
    return answers


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_no_request_fails_while_versions_roll(
    rate: Rate, tmp_path: Path, serve_port: int, record_property: Callable[[str, object], None]
) -> None:
    registry = Registry.new(tmp_path)
    second, third, bad = registry.add(seed=2), registry.add(seed=3), registry.add_saved(broken)
    expected = {version: registry.expected(version, PAGES[: rate.pages]) for version in ("1", second, third)}
    # Requests wait while a version is loaded: it takes processor time from the one that answers.
    limits = Limits(max_queued_requests=200)
    settings = ServeSettings(
        **registry.start(),
        limits=limits,
        recognition=Recognition(profile="fast"),
        cpus_per_replica=0.2,
        port=serve_port,
    )
    changes = [(20, second), (45, bad), (70, third), (95, "1")]
    with registry.serving(settings) as client:
        answers = answers_at_a_rate(client.base_url, rate, changes, registry)
    record_property("statuses", dict(Counter(one.status for one in answers)))
    record_property("late", max(one.late for one in answers))
    assert len(answers) == SECONDS * rate.per_second
    assert {one.status for one in answers} == {200}
    assert max(one.late for one in answers) < 10, "the endpoint keeps up with the requests"
    for answer in (one.body for one in answers):
        assert found_in(answer) == expected[answer["model_version"]]
    versions = Counter(one.body["model_version"] for one in answers)
    record_property("versions", dict(versions))
    assert set(versions) == set(expected)
