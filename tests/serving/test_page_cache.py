"""Pages are kept for a time, and in bounded memory."""

import asyncio
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from layoutray.document import Box, Page, Provenance, Word
from layoutray.serving.page_cache import PageCache
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import rendered
from tests.ocr.files import encoded
from tests.serving.in_process import application

PAGE = Page(
    doc_id="a",
    number=2,
    width=640,
    height=480,
    words=(
        Word(text="Grün", box=Box(0.1, 0.2, 0.3, 0.4), confidence=0.875, line=1, block=2),
        Word(text="7", box=Box(0, 0, 1, 1)),
    ),
    source="a.png",
    image="",
    split="",
    provenance=Provenance(words="ocr", reason=""),
)


def test_a_page_is_given_as_it_was_kept_for_its_own_content_and_number() -> None:
    async def ask() -> None:
        cache = PageCache(60)
        cache.put(PAGE)
        assert cache.get("a", 2) == PAGE
        assert cache.get("a", 1) is None
        assert cache.get("b", 2) is None

    asyncio.run(ask())


def test_a_page_is_removed_when_its_time_has_passed_however_often_it_was_asked_for() -> None:
    async def ask() -> None:
        cache = PageCache(0.2)
        cache.put(PAGE)
        until = asyncio.get_running_loop().time() + 30
        while cache.get("a", 2):
            cache.put(PAGE)
            assert asyncio.get_running_loop().time() < until
            await asyncio.sleep(0.01)

    asyncio.run(ask())


def test_nothing_is_kept_for_no_time() -> None:
    cache = PageCache(0)
    cache.put(PAGE)
    assert cache.get("a", 2) is None


def test_the_first_pages_leave_when_there_is_no_room() -> None:
    async def ask() -> list[bool]:
        cache = PageCache(60, most_bytes=1000)
        for number in range(1, 7):
            cache.put(replace(PAGE, number=number))
        return [cache.get("a", number) is not None for number in range(1, 7)]

    kept = asyncio.run(ask())
    assert kept == sorted(kept), "the last ones"
    assert 1 < sum(kept) < 6


def test_a_page_larger_than_the_room_is_not_kept() -> None:
    async def ask() -> None:
        cache = PageCache(60, most_bytes=10)
        cache.put(PAGE)
        assert cache.get("a", 2) is None

    asyncio.run(ask())


@pytest.mark.ocr
def test_a_file_that_comes_again_is_answered_without_ocr(endpoint: ServeSettings) -> None:
    picture = {"file": ("page", encoded(rendered()[0], "PNG"))}
    with application(replace(endpoint, keys="", jobs="", ocr_cache_seconds=600)) as app:
        client = TestClient(app, base_url="http://127.0.0.1")
        first, second = (client.post("/v1/extract?words=true", files=picture).json() for _ in range(2))
        assert "layoutray_pages_kept_total 1.0" in client.get("/metrics").text
    assert first["timings"].pop("ocr_ms") > 0
    assert second["timings"].pop("ocr_ms") == 0
    assert first["pages"][0]["words"]
    assert {**first, "timings": None} == {**second, "timings": None}
