"""What the service refuses before it calls a replica, and what it leaves when a page has failed."""

import asyncio
from types import SimpleNamespace

import pytest

from layoutray.cluster.endpoint import service as module
from layoutray.cluster.endpoint.service import Service
from layoutray.errors import ApiError
from layoutray.serving.capacity import Capacity
from layoutray.serving.model import ModelDescription, Version
from layoutray.serving.outcome import Outcome
from layoutray.serving.page_cache import PageCache
from layoutray.serving.submission import UploadedFile, WordPages
from layoutray.serving.telemetry import Telemetry
from tests.documents import pages
from tests.serving.in_process import LocalHandle

PLAIN = ModelDescription(
    version=Version("plain", "1"),
    model_id="plain",
    model_version="1",
    task="summary",
    path="/v1/summarize",
    writes=True,
    entity_types=(),
    fields={},
    records={},
    explains=False,
    tried_on="a generated page",
)


def test_a_model_that_cannot_explain_says_so_before_it_writes() -> None:
    service = Service(None, None, {}, Capacity(1, 1, 1), PageCache(0), Telemetry())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ApiError, match="plain has no selection of words; take one that pools") as refusal:
        asyncio.run(service.answer(WordPages("d", tuple(pages(0))), PLAIN, explain=True))
    assert refusal.value.status == 422


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
