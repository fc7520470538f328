"""Two processes that receive requests on one port: answers, metrics and jobs, also when one of them is killed."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from layoutray.ocr.settings import Recognition
from layoutray.serving.settings import ServeSettings
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request, measured, rendered, serving
from tests.ocr.files import encoded

pytestmark = [pytest.mark.ray, pytest.mark.ocr]

REQUESTS = 24


@pytest.fixture
def client(tmp_path: Path, cluster_to_harm: None, serve_port: int) -> Iterator[httpx.Client]:
    save_untrained(tmp_path / "checkpoint")
    settings = ServeSettings(
        str(tmp_path / "checkpoint"),
        recognition=Recognition(profile="fast"),
        ingress_replicas=2,
        cpus_per_replica=0.2,
        port=serve_port,
        jobs=str(tmp_path / "jobs.db"),
    )
    with serving(settings) as client:
        yield client


async def statuses(url: httpx.URL) -> set[int]:
    """The statuses of requests on a connection each: the kernel gives each connection to one of the processes."""

    async def ask() -> int:
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            return (await client.post("/v1/extract", json=as_request(*rendered()))).status_code

    return set(await asyncio.gather(*(ask() for _ in range(REQUESTS))))


def answered(client: httpx.Client) -> list[float]:
    """The answered requests of each process."""
    counts = measured(client)
    return [counts.get(f'layoutray_requests_total{{ingress="{rank}",status="200"}}', 0.0) for rank in (0, 1)]


def ended(client: httpx.Client) -> dict[str, int]:
    """The documents of a job of one file, by state, when it has ended."""
    page = encoded(rendered()[0], "PNG")
    job = client.post("/v1/jobs", files=[("file", ("page.png", page))]).json()["id"]
    until = time.monotonic() + 120
    while (status := client.get(f"/v1/jobs/{job}").json())["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.2)
    return status["documents"]


def kill_one() -> None:
    processes = psutil.Process().children(recursive=True)
    ingresses = [one for one in processes if "ServeReplica:layoutray:Ingress" in " ".join(one.cmdline())]
    assert len(ingresses) == 2
    ingresses[0].kill()
    ingresses[0].wait(30)  # until then, the kernel may give it connections


def test_two_share_the_port_the_metrics_and_the_jobs(client: httpx.Client) -> None:
    assert asyncio.run(statuses(client.base_url)) == {200}
    counts = answered(client)
    assert sum(counts) == REQUESTS
    assert min(counts) > 0
    assert ended(client)["answered"] == 1
    kill_one()
    with httpx.Client(base_url=client.base_url, timeout=120, transport=httpx.HTTPTransport(retries=5)) as new:
        assert ended(new)["answered"] == 1
        until = time.monotonic() + 120
        while len(measured(new).keys() & {f'layoutray_replicas{{ingress="{n}",kind="ocr"}}' for n in (0, 1)}) < 2:
            assert time.monotonic() < until
            time.sleep(0.5)
    assert asyncio.run(statuses(client.base_url)) == {200}
