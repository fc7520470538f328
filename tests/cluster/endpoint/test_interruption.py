"""A batch that nobody waits for stops, and one that does not end is noticed."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutray.cluster.endpoint import replicas
from layoutray.cluster.endpoint.replicas import BatchResult, HeldModels, ModelReplica, PageRequest
from layoutray.devices import CPU
from layoutray.document import Page
from layoutray.inference.extractor import Extractor
from layoutray.serving.model import Version
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages

SECONDS = 0.05


@pytest.fixture
def replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelReplica]:
    save_untrained(tmp_path / "checkpoint")
    monkeypatch.setattr(replicas, "write_with_serve", lambda: None)
    monkeypatch.setattr(replicas.gpus, "assigned_device", lambda: CPU)
    first = Version(str(tmp_path / "checkpoint"), "")
    return ModelReplica(HeldModels(first=first, fetch=str, beams=1, budget=0, deadline_s=10 * SECONDS))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The windows of each forward pass, each of which takes a while."""
    made: list[int] = []
    working = Extractor._of_batch

    def slow(self: Extractor, examples: Any) -> Any:
        made.append(len(examples))
        time.sleep(SECONDS)
        return working(self, examples)

    monkeypatch.setattr(Extractor, "_of_batch", slow)
    return made


def long_page() -> Page:
    (page,) = pages(1)
    return Page(**{name: getattr(page, name) for name in page.__slots__} | {"words": page.words * 20_000})


def request(replica: ModelReplica, page: Page) -> list[PageRequest]:
    return [PageRequest(replica._versions.served.description.version, page)]


def test_a_batch_whose_callers_have_gone_stops_before_its_next_pass(replica: ModelReplica, passes: list[int]) -> None:
    async def check() -> None:
        running = asyncio.create_task(replica.answer(request(replica, long_page())))
        waiting = asyncio.create_task(replica.answer(request(replica, long_page())))
        while not passes:
            await asyncio.sleep(0.001)
        waiting.cancel()
        running.cancel()
        await asyncio.wait([running, waiting])
        before = len(passes)
        (answered,) = await replica.answer(request(replica, pages(1)[0]))
        assert isinstance(answered, BatchResult)
        assert len(passes) <= before + 2, "the pass that ran, and that of the last page"

    asyncio.run(check())


def test_a_batch_that_does_not_end_is_noticed(replica: ModelReplica, passes: list[int]) -> None:
    async def check() -> None:
        await replica.check_health()
        running = asyncio.create_task(replica.answer(request(replica, long_page())))
        until = time.monotonic() + 30
        while not await replica.is_late():
            assert time.monotonic() < until
            await asyncio.sleep(SECONDS)
        with pytest.raises(TimeoutError, match=r"a batch has not ended 0\.5 s after its begin"):
            await replica.check_health()
        running.cancel()
        await asyncio.wait([running])
        await replica.answer(request(replica, pages(1)[0]))
        await replica.check_health()
        assert passes

    asyncio.run(check())
