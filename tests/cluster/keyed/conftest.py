"""One endpoint with keys, audit log and jobs, for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from layoutray.ocr.settings import Recognition
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import serving

if TYPE_CHECKING:
    from tests.cluster.shared_ray import SharedRay


@pytest.fixture(scope="package")
def settings(tmp_path_factory: pytest.TempPathFactory, serve_port: int) -> ServeSettings:
    folder = tmp_path_factory.mktemp("keyed")
    save_untrained(folder / "checkpoint", fields={"date": {"many": True}, "total": {}})
    KeyStore.open(str(folder / "keys.db"), create=True).close()
    return ServeSettings(
        str(folder / "checkpoint"),
        recognition=Recognition(profile="fast"),
        limits=Limits(max_pages=3),
        cpus_per_replica=0.2,
        port=serve_port,
        keys=str(folder / "keys.db"),
        jobs=str(folder / "jobs.db"),
        audit=str(folder / "audit.jsonl"),
        review=str(folder / "review.db"),
    )


@pytest.fixture(scope="package")
def client(settings: ServeSettings, shared_ray: "SharedRay") -> Iterator[httpx.Client]:
    """A client without a key."""
    shared_ray.start("cluster")
    with serving(settings) as client:
        yield client


@pytest.fixture(scope="package")
def store(settings: ServeSettings) -> KeyStore:
    return KeyStore.open(settings.keys)


@pytest.fixture(scope="package")
def admin(store: KeyStore) -> dict[str, str]:
    """The header of a key that may do everything."""
    return {"Authorization": f"Bearer {store.create('the-admin', ['admin'])}"}


@pytest.fixture
def audit(settings: ServeSettings) -> Path:
    return Path(settings.audit)
