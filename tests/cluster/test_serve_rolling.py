"""A long proof: 50 requests a second for two minutes, through three changes of version and a broken version."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from layoutray.cluster.serving.settings import ServeSettings
from layoutray.ocr.settings import Recognition
from tests.cluster.registry import Registry, broken, found_in
from tests.cluster.test_serve_versions import BODY, PAGES

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SECONDS = 120
PER_SECOND = 50


async def answers_at_a_rate(url: httpx.URL, changes: Sequence[tuple[float, str]], registry: Registry) -> list[object]:
    """The answers to requests that are sent at fixed times, however long answers take; exceptions are answers too.

    Args:
        changes: seconds after the start, and the version that the alias names from then on.
    """

    async def send(client: httpx.AsyncClient, number: int) -> object:
        await asyncio.sleep(number / PER_SECOND)
        try:
            return await client.post("/v1/extract", json=BODY)
        except httpx.HTTPError as error:
            return error

    async def change(after: float, version: str) -> None:
        await asyncio.sleep(after)
        await asyncio.to_thread(registry.point, version)

    pool = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=pool) as client:
        sent = [send(client, number) for number in range(SECONDS * PER_SECOND)]
        answers, *_ = await asyncio.gather(asyncio.gather(*sent), *(change(*one) for one in changes))
    return answers


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cluster")
def test_no_request_fails_while_versions_roll(
    tmp_path: Path, serve_port: int, record_property: Callable[[str, object], None]
) -> None:
    registry = Registry.new(tmp_path)
    second, third, bad = registry.add(seed=2), registry.add(seed=3), registry.add_saved(broken)
    expected = {version: registry.expected(version, PAGES) for version in ("1", second, third)}
    settings = ServeSettings(
        **registry.start(), recognition=Recognition(profile="fast"), cpus_per_replica=0.2, port=serve_port
    )
    changes = [(20, second), (45, bad), (70, third), (95, "1")]
    with registry.serving(settings) as client:
        started = time.monotonic()
        answers = asyncio.run(answers_at_a_rate(client.base_url, changes, registry))
        seconds = time.monotonic() - started
    given = [one for one in answers if isinstance(one, httpx.Response)]
    record_property("statuses", dict(Counter(one.status_code for one in given)))
    record_property("seconds", seconds)
    assert len(answers) == len(given) == SECONDS * PER_SECOND
    assert {one.status_code for one in given} == {200}
    assert seconds < SECONDS + 10, "the endpoint keeps up with the requests"
    for answer in map(httpx.Response.json, given):
        assert found_in(answer) == expected[answer["model_version"]]
    versions = Counter(one.json()["model_version"] for one in given)
    record_property("versions", dict(versions))
    assert set(versions) == set(expected)
