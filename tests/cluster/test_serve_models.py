"""Several models on one endpoint, over real HTTP: a model with a name follows its alias, and answers jobs."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from layoutray.cli.shared.deployment import registry_for
from layoutray.ocr.settings import Recognition
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.serving.submission import word_pages
from tests.cluster.checkpoints import save_untrained
from tests.cluster.registry import Registry, broken, found_in
from tests.cluster.running_endpoint import as_request, rendered, serving
from tests.ocr.files import encoded

pytestmark = [pytest.mark.ray, pytest.mark.ocr]

BODY = as_request(*rendered())
PAGES = list(word_pages(json.dumps(BODY).encode(), Limits()).pages)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return Registry.new(tmp_path_factory.mktemp("registry"))


@pytest.fixture(scope="module")
def client(registry: Registry, cluster: None, serve_port: int) -> Iterator[httpx.Client]:
    save_untrained(registry.root / "default", seed=9)
    settings = ServeSettings(
        str(registry.root / "default"),
        recognition=Recognition(profile="fast"),
        models={"forms": registry.address},
        jobs=str(registry.root / "jobs.db"),
        cpus_per_replica=0.2,
        follow_every_s=0.3,
        port=serve_port,
    )
    with serving(settings, registry_for(settings.checkpoint, registry.uri)) as client:
        yield client


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def forms(client: httpx.Client) -> dict[str, Any]:
    """The state of the model `forms`."""
    return client.get("/healthz").json()["models"]["forms"]


def ask(client: httpx.Client) -> dict[str, Any]:
    response = client.post("/v1/models/forms/extract", json=BODY)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_model_with_a_name_follows_its_alias(client: httpx.Client, registry: Registry) -> None:
    assert forms(client) == {}, "it is not loaded before a request asks for it"
    versions = ["1", registry.add(seed=2)]
    for version in versions:
        registry.point(version)
        wait_until(lambda version=version: ask(client)["model_version"] == version)
        assert found_in(ask(client)) == registry.expected(version, PAGES)
    bad = registry.add_saved(broken)
    registry.point(bad)
    wait_until(lambda: "refused" in forms(client))
    assert (forms(client)["model_version"], forms(client)["refused"]["code"]) == (versions[1], "broken")
    assert ask(client)["model_version"] == versions[1]
    assert client.post("/v1/extract", json=BODY).json()["model_id"] == "untrained", "the default model stays"


def test_a_job_is_answered_by_the_model_that_it_names(client: httpx.Client) -> None:
    page = encoded(rendered()[0], "PNG")
    jobs = [client.post("/v1/jobs", params=model, files={"file": page}).json() for model in ({"model": "forms"}, {})]
    for job, expected in zip(jobs, ("forms", "untrained"), strict=True):
        wait_until(lambda job=job: client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done")
        result = json.loads(client.get(f"/v1/jobs/{job['id']}/results").text)
        assert (result["state"], result["answer"]["model_id"]) == ("answered", expected)
