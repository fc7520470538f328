"""Following an alias of a registry that does not answer, without a cluster."""

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutray.cluster.endpoint import versions
from layoutray.cluster.endpoint.models import ModelReplicas
from layoutray.cluster.endpoint.versions import ServedVersion, VersionOnDemand
from layoutray.devices import CPU
from layoutray.errors import ApiError, TrackingError
from layoutray.serving.model import Loader, ModelDescription, Version, VersionError
from layoutray.serving.telemetry import Telemetry
from tests.cluster.checkpoints import save_untrained


class Here(ModelReplicas):
    """One replica in this process, which loads versions and keeps none."""

    def describe_now(self) -> ModelDescription:
        return Loader(CPU).load(Version(self.handle, "1")).description  # pyright: ignore[reportArgumentType]

    def load_everywhere(self, version: Version) -> ModelDescription | VersionError:
        try:
            return Loader(CPU).load(version).description
        except VersionError as refusal:
            return refusal

    def keep(self, *versions: Version) -> None:
        """Nothing."""


@pytest.fixture
def replicas(tmp_path: Path) -> ModelReplicas:
    save_untrained(tmp_path / "model")
    return Here(str(tmp_path / "model"))  # pyright: ignore[reportArgumentType]


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_registry_that_is_down_is_logged_once_and_followed_again(
    replicas: ModelReplicas, caplog: pytest.LogCaptureFixture
) -> None:
    asked, down = threading.Semaphore(0), threading.Event()
    down.set()

    def lookup() -> Version:
        asked.release()
        if down.is_set():
            raise TrackingError("MLflow does not answer")
        return Version(str(replicas.handle), "2")

    with caplog.at_level(logging.INFO, "layoutray.cluster.endpoint.versions"):
        served = ServedVersion(replicas, lookup, 0.01, Telemetry())
        for _ in range(20):
            assert asked.acquire(timeout=60)
        warnings = [line.message for line in caplog.records if line.levelno >= logging.WARNING]
        assert warnings == ["version 1 is served on: MLflow does not answer"]
        down.clear()
        wait_until(lambda: (one := served.state.description) and one.model_version == "2")
    assert "the registry answers again" in caplog.text


def test_a_broken_version_is_tried_again_more_and_more_rarely(
    replicas: ModelReplicas, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(versions, "_RETRY_SECONDS", 0.2)
    monkeypatch.setattr(versions, "_LONGEST_RETRY_SECONDS", 0.8)
    served = ServedVersion(replicas, lambda: Version("nothing", "2"), 0.01, Telemetry())

    def refused() -> list[float]:
        return [line.created for line in caplog.records if "is refused, broken" in line.message]

    wait_until(lambda: len(refused()) == 5)
    times = refused()
    pauses = [later - before for before, later in itertools.pairwise(times)]
    assert all(pause >= least for pause, least in zip(pauses, (0.2, 0.4, 0.8, 0.8), strict=True)), pauses
    assert served.state.description, "the former version is served"


def test_a_slow_registry_holds_one_thread_however_many_ask(replicas: ModelReplicas) -> None:
    waiting, threads = threading.Event(), list[int]()

    def lookup() -> Version:
        threads.append(threading.get_ident())
        waiting.wait(60)
        raise TrackingError("MLflow does not answer")

    async def check() -> None:
        model = VersionOnDemand("forms", replicas, lookup, 3600.0, Telemetry())
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await model.ask()
        assert len(threads) == 1
        waiting.set()
        with pytest.raises(ApiError, match="the registry does not say"):
            await model.ask()

    asyncio.run(check())
