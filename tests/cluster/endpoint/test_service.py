"""Which pages are read, for whom, and what is left when one has failed or its client has gone."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from layoutray.cluster.endpoint import service as module
from layoutray.cluster.endpoint.service import Service
from layoutray.document import Box, Word
from layoutray.document.answers import Problem
from layoutray.errors import ApiError
from layoutray.serving.capacity import Capacity
from layoutray.serving.limits import Limits
from layoutray.serving.model import _GENERATED_PAGE
from layoutray.serving.outcome import Outcome
from layoutray.serving.page_cache import PageCache
from layoutray.serving.submission import UploadedFile
from layoutray.serving.telemetry import Telemetry
from tests.serving.in_process import PLAIN, LocalHandle


class _Reader:
    """Fails at the second page of the document `d`; others end when the test lets them."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.read_pages: list[str] = []
        self.ended = 0

    async def count_pages(self, _: bytes) -> int:
        return 9

    async def read(self, _: bytes, number: int, doc_id: str, *__: str) -> Outcome:
        self.read_pages.append(f"{doc_id}{number}")
        if (doc_id, number) == ("d", 2):
            raise RuntimeError("a fault of Ray")
        await self.go.wait()
        self.ended += 1
        return Outcome(page=None, problem=Problem(code="unreadable", stage="ocr", message="", retryable=False))


def served(check: Callable[[Service, _Reader], Awaitable[None]], places: int = 1) -> None:
    """Run `check` with readers that have one place more than `places`."""

    async def run() -> None:
        reader = _Reader()
        made: dict[str, Any] = {"reader": LocalHandle(reader), "holder": None, "served": {}, "routes": {}}
        made |= {"capacity": Capacity(places, 1, 1), "kept": PageCache(0), "telemetry": Telemetry(), "limits": Limits()}
        async with asyncio.timeout(30):
            await check(Service(**made), reader)

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(module, "ray", SimpleNamespace(put=lambda data: data))
        asyncio.run(run())


def test_no_page_is_read_any_more_when_the_document_has_failed() -> None:
    async def check(service: Service, reader: _Reader) -> None:
        with pytest.raises(RuntimeError, match="a fault of Ray"):
            await service.answer(UploadedFile("d", "d.pdf", b""), PLAIN)
        await asyncio.sleep(0.05)
        assert reader.read_pages == ["d1", "d2", "d3"], "the third one began before anybody knew"

    served(check)


def test_a_page_that_has_begun_keeps_its_place_when_its_client_has_gone() -> None:
    async def check(service: Service, reader: _Reader) -> None:
        gone = asyncio.create_task(service.answer(UploadedFile("a", "a.pdf", b""), PLAIN, owner="carol"))
        while len(reader.read_pages) < 2:
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        other = asyncio.create_task(service.answer(UploadedFile("b", "b.pdf", b""), PLAIN, owner="alice"))
        await asyncio.sleep(0.05)
        assert reader.read_pages == ["a1", "a2"], "both places are taken"
        reader.go.set()
        await asyncio.wait([other])
        assert reader.read_pages == ["a1", "a2", *(f"b{number}" for number in range(1, 10))]

    served(check)


def test_words_of_pages_that_ocr_has_read_are_limited() -> None:
    word = Word(text="a", box=Box(0.1, 0.1, 0.2, 0.2))

    async def check(service: Service, reader: _Reader) -> None:
        async def read(_: bytes, number: int, *__: str) -> Outcome:
            return Outcome(page=replace(_GENERATED_PAGE, number=number, words=(word,) * 10_001))

        reader.read = read  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(ApiError, match="has 10001 words; at most 10000 are allowed") as refusal:
            await service.answer(UploadedFile("d", "d.pdf", b""), PLAIN)
        assert refusal.value.status == 413

    served(check)
