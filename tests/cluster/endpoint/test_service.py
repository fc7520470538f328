"""What the service leaves when a page has failed."""

import asyncio
from types import SimpleNamespace

import pytest

from layoutray.cluster.endpoint import service as module
from layoutray.cluster.endpoint.service import Service
from layoutray.serving.capacity import Capacity
from layoutray.serving.outcome import Outcome
from layoutray.serving.page_cache import PageCache
from layoutray.serving.submission import UploadedFile
from layoutray.serving.telemetry import Telemetry
from tests.serving.in_process import PLAIN, LocalHandle


class _Reader:
    """Reads the first page for ever, and fails at the second one."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled: list[int] = []

    async def count_pages(self, _: bytes) -> int:
        return 2

    async def read(self, _: bytes, number: int, *__: str) -> Outcome:
        if number == 2:
            await self.begun.wait()
            raise RuntimeError("a fault of Ray")
        try:
            self.begun.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return Outcome(page=None)


def test_no_page_is_read_any_more_when_the_document_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ray", SimpleNamespace(put=lambda data: data))

    async def run() -> list[int]:
        reader = _Reader()
        service = Service(LocalHandle(reader), None, {}, Capacity(2, 1, 1), PageCache(0), Telemetry())  # pyright: ignore[reportArgumentType]
        with pytest.raises(RuntimeError, match="a fault of Ray"):
            await service.answer(UploadedFile("d", "d.pdf", b""), PLAIN)
        return list(reader.cancelled)

    assert asyncio.run(run()) == [1]
