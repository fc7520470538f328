"""An endpoint of real Ray Serve that follows an alias of a registry which is down, slow, or lies."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from layoutray.cli.shared.deployment import registry_for
from layoutray.serving.settings import ServeSettings
from layoutray.tracking import registered
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import measured, serving
from tests.lying_registry import LyingRegistry, lying_registry

pytestmark = pytest.mark.ray

ALIAS = "models:/forms@champion"
BODY = {"pages": [{"width": 100, "height": 50, "words": [{"text": "TOTAL", "box": [1, 1, 20, 9]}]}]}
UNKNOWN = 'layoutray_versions_total{outcome="unknown"}'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LyingRegistry]:
    with lying_registry() as started:
        for number in range(1, 8):
            folder = tmp_path_factory.mktemp("version")
            save_untrained(folder, seed=number)
            started.sources[str(number)] = str(folder)
        yield started


@pytest.fixture(scope="module")
def client(registry: LyingRegistry, cluster: None, serve_port: int) -> Iterator[httpx.Client]:
    name = registered.resolve(ALIAS, registry.url)
    settings = ServeSettings(name, model_version="1", cpus_per_replica=0.2, follow_every_s=0.3, port=serve_port)
    with serving(settings, registry_for(ALIAS, registry.url)) as client:
        yield client


def down(*_: Any) -> None:
    return None


def slow(*_: Any) -> None:
    time.sleep(8)


def wrong(*_: Any) -> Any:
    return b"<html>"


def outside(*_: Any) -> Any:
    return {"model_version": {"name": "forms", "version": "../../1"}}


def other_artifact(path: str, _: dict[str, str]) -> Any:
    """A version whose files are somewhere else."""
    return {"artifact_uri": "/etc"} if path.endswith("/get-download-uri") else NotImplemented


@pytest.mark.parametrize(
    "lie", [down, slow, wrong, *(pytest.param(one, marks=pytest.mark.slow) for one in (outside, other_artifact))]
)
def test_the_endpoint_goes_on_and_follows_again(client: httpx.Client, registry: LyingRegistry, lie: Any) -> None:
    present = client.get("/healthz").json()["model_version"]
    registry.version, registry.lie = str(int(present) + 1), lie
    until = time.monotonic() + 20
    unknown = measured(client).get(UNKNOWN, 0)
    while measured(client).get(UNKNOWN, 0) == unknown and "refused" not in client.get("/healthz").json():
        assert time.monotonic() < until + 100
        for path in ("/livez", "/readyz"):
            began = time.monotonic()
            assert client.get(path).status_code == 200
            assert time.monotonic() - began < 5
        assert client.post("/v1/extract", json=BODY).json()["model_version"] == present
        time.sleep(0.1)
    registry.version, registry.lie = present, None
    while "refused" in client.get("/healthz").json():
        time.sleep(0.2)
    registry.version = str(int(present) + 1)
    while client.get("/healthz").json()["model_version"] == present:
        assert time.monotonic() < until + 240
        time.sleep(0.2)
    assert client.post("/v1/extract", json=BODY).json()["model_version"] == registry.version
