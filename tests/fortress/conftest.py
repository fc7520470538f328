"""The endpoint that is attacked, and how long: `make fortress` sets FORTRESS_SECONDS and FORTRESS_SEED."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest

from layoutray.ocr.settings import Recognition
from layoutray.serving.access.keys import KeyStore, Scope
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import serving

if TYPE_CHECKING:
    from tests.cluster.shared_ray import SharedRay

_SCOPES: dict[str, list[Scope]] = {"honest": ["extract", "jobs", "metrics"], "hostile": ["extract", "jobs", "review"]}


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes:
        seed: of everything that is random.
        seconds: of the mixed load; the other tests try in proportion.
    """

    seed: int
    seconds: float

    @property
    def examples(self) -> int:
        """Requests that Hypothesis makes."""
        return round(10 * self.seconds)


@dataclass(frozen=True)
class Target:
    """The endpoint: its address, and the headers of the keys `honest` and `hostile`."""

    url: str
    keys: dict[str, dict[str, str]]

    def client(self, key: str = "", timeout: float = 90) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.keys.get(key), timeout=timeout)


@pytest.fixture(scope="session")
def effort() -> Effort:
    seed = int(os.environ.get("FORTRESS_SEED") or time.time_ns() % 10**6)
    chosen = Effort(seed, float(os.environ.get("FORTRESS_SECONDS") or 5))
    print(f"\nFORTRESS_SEED={chosen.seed} FORTRESS_SECONDS={chosen.seconds:g}")  # noqa: T201
    return chosen


@pytest.fixture(scope="package")
def target(tmp_path_factory: pytest.TempPathFactory, serve_port: int, shared_ray: "SharedRay") -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("fortress")
    save_untrained(folder / "checkpoint", fields={"date": {"many": True}, "total": {}, "period": {"type": "term"}})
    store = KeyStore.open(str(folder / "keys.db"), create=True)
    keys = {name: {"Authorization": f"Bearer {store.create(name, scopes)}"} for name, scopes in _SCOPES.items()}
    store.close()
    settings = ServeSettings(
        str(folder / "checkpoint"),
        recognition=Recognition(profile="fast"),
        limits=Limits(max_pages=3, timeout_s=20),
        cpus_per_replica=0.2,
        port=serve_port,
        keys=str(folder / "keys.db"),
        jobs=str(folder / "jobs.db"),
        audit=str(folder / "audit.jsonl"),
        review=str(folder / "review.db"),
    )
    shared_ray.start("cluster")
    with serving(settings) as client:
        yield Target(str(client.base_url), keys)
