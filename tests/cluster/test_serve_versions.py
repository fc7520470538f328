"""Versions that roll, over real HTTP: real Ray Serve, a real MLflow registry, small untrained models."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from layoutray.ocr.settings import Recognition
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.serving.submission import word_pages
from layoutray.synthetic.render import render_page
from tests.cluster.checkpoints import save_untrained
from tests.cluster.registry import Registry, bomb, broken, found_in, panicking, too_large
from tests.cluster.running_endpoint import as_request, measured

pytestmark = pytest.mark.ray

BODY = {
    "pages": [
        as_request(image, annotation["words"])["pages"][0]
        for image, annotation in (render_page(Random(f"page {number}")) for number in range(3))
    ]
}

PAGES = list(word_pages(json.dumps(BODY).encode(), Limits()).pages)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return Registry.new(tmp_path_factory.mktemp("registry"))


@pytest.fixture(scope="module")
def client(registry: Registry, cluster: None, serve_port: int) -> Iterator[httpx.Client]:
    fast = Recognition(profile="fast")
    settings = ServeSettings(
        **registry.start(), recognition=fast, cpus_per_replica=0.2, follow_every_s=0.3, port=serve_port
    )
    with registry.serving(settings) as client:
        yield client


@contextmanager
def requests(client: httpx.Client, clients: int = 3) -> Iterator[list[httpx.Response]]:
    """The answers to requests of so many clients, who go on asking during the block."""
    answers: list[httpx.Response] = []
    done = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=client.base_url, timeout=120) as own:
            while not done.is_set():
                answers.append(own.post("/v1/extract", json=BODY))
                time.sleep(0.05)  # leaves time for the versions, which are loaded on the same cores

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        done.set()
        for thread in threads:
            thread.join()


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def health(client: httpx.Client) -> dict[str, Any]:
    response = client.get("/healthz")
    assert response.status_code == 200, response.text
    return response.json()


def roll(client: httpx.Client, registry: Registry, version: str) -> None:
    registry.point(version)
    wait_until(lambda: health(client) == {"status": "ok", "model_version": version})


def test_requests_go_on_while_versions_change_and_each_is_answered_by_one(
    client: httpx.Client, registry: Registry
) -> None:
    versions = ["1", registry.add(seed=2), registry.add(seed=3)]
    expected = {version: registry.expected(version, PAGES) for version in versions}
    assert len({str(found) for found in expected.values()}) == 3, "a mixed answer would show"
    with requests(client) as answers:
        for version in (versions[1], "1", versions[2]):
            roll(client, registry, version)
            seen = len(answers)
            wait_until(lambda seen=seen: len(answers) > seen + 3)
    assert {answer.status_code for answer in answers} == {200}
    for answer in map(httpx.Response.json, answers):
        assert found_in(answer) == expected[answer["model_version"]]
    assert {answer.json()["model_version"] for answer in answers} == set(versions)


@pytest.mark.parametrize(
    ("save", "code"),
    [(None, "foreign")]
    + [
        pytest.param(*other, marks=pytest.mark.slow)
        for other in ((bomb, "broken"), (broken, "broken"), (panicking, "broken"), (too_large, "too_large"))
    ],
)
def test_a_version_that_cannot_be_served_is_refused_and_the_present_one_goes_on(
    client: httpx.Client, registry: Registry, save: Callable[[Path], None] | None, code: str
) -> None:
    present, counter = health(client)["model_version"], f'layoutray_versions_total{{outcome="{code}"}}'
    before = measured(client).get(counter, 0)
    bad = registry.add_saved(save or foreign)
    with requests(client, clients=1) as answers:
        registry.point(bad)
        wait_until(lambda: "refused" in client.get("/healthz").json())
    assert {(answer.status_code, answer.json()["model_version"]) for answer in answers} == {(200, present)}
    said = health(client)
    assert (said["model_version"], said["refused"]["model_version"], said["refused"]["code"]) == (present, bad, code)
    assert client.post("/v1/extract", json=BODY).json()["model_version"] == present
    counts = measured(client)
    assert (counts[counter], counts[f'layoutray_model_version{{model="untrained",version="{present}"}}']) == (
        before + 1,
        1,
    )
    time.sleep(1)
    assert measured(client)[counter] == before + 1, "it is not loaded again and again"
    roll(client, registry, present)


def foreign(folder: Path) -> None:
    save_untrained(folder, name="entities_bioes")


def test_a_registry_that_does_not_answer_changes_nothing(client: httpx.Client, registry: Registry) -> None:
    present = health(client)["model_version"]
    registry.client.delete_registered_model_alias("forms", "champion")
    wait_until(lambda: measured(client).get('layoutray_versions_total{outcome="unknown"}', 0) >= 1)
    assert health(client) == {"status": "ok", "model_version": present}
    roll(client, registry, present)
