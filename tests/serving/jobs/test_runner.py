"""Jobs of the whole endpoint in this process, in both databases, and while the server of the ledger restarts."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from layoutray.serving.access.auth import KeyHolder
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs import ledger_loop, postgresql, runner
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import refused
from tests.ocr.files import pdf, typed
from tests.serving.conftest import MODELS
from tests.serving.in_process import processing
from tests.serving.ledger_places import LedgerPlace

FILES = [("file", (f"{at}.pdf", pdf(*(typed(f"{at} {page}", x=9, y=9) for page in range(2))))) for at in range(4)]


def sent(client: TestClient) -> str:
    """A job, which is sent again until it is accepted."""
    while (response := client.post("/v1/jobs", files=FILES, headers={"Idempotency-Key": "1"})).status_code == 503:
        time.sleep(0.05)
    return response.json()["id"]


def ended(client: TestClient, job: str) -> bool:
    response = client.get(f"/v1/jobs/{job}")
    assert response.status_code in (200, 503), response.text
    return response.status_code == 200 and response.json()["state"] == "done"


def test_each_document_is_answered_once_though_the_server_of_the_ledger_restarts(
    endpoint: ServeSettings, place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(postgresql, "_PAUSE_SECONDS", 0.1)
    with processing(replace(endpoint, keys="", models={}, jobs=place.address)) as client:
        job = sent(client)
        for _ in range(3 if place.server else 0):
            with place.server.stopped():
                refused(client.get(f"/v1/jobs/{job}"), 503, "unavailable")
        until = time.monotonic() + 120
        while not ended(client, job):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert sent(client) == job
        status = client.get(f"/v1/jobs/{job}").json()
        lines = [json.loads(line) for line in client.get(f"/v1/jobs/{job}/results").text.splitlines()]
        pages = client.get(f"/v1/jobs/{job}/results?pages=true").text.splitlines()
    assert (status["documents"]["answered"], status["pages"]) == (len(FILES), {"done": 2 * len(FILES), "left": 0})
    assert [line["number"] for line in lines] == list(range(1, len(FILES) + 1))
    assert sorted(line["file"] for line in lines) == [name for _, (name, _) in FILES]
    assert [json.loads(line)["number"] for line in pages] == list(range(1, 2 * len(FILES) + 1)), "each is stored once"


def test_an_endpoint_processes_jobs_when_the_one_before_it_has_ended(
    endpoint: ServeSettings, place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.05)
    first = place.open()
    first.check()
    with processing(replace(endpoint, keys="", models={}, jobs=place.address)) as client:
        job = sent(client)
        time.sleep(0.5)
        status = client.get(f"/v1/jobs/{job}").json()
        assert (status["documents"]["waiting"], status["unopened"]) == (len(FILES), len(FILES)), "nothing was begun"
        first.close()
        until = time.monotonic() + 120
        while not ended(client, job):
            assert time.monotonic() < until
            time.sleep(0.05)


@contextmanager
def unusable(file: str, change: str) -> Iterator[None]:
    """Changes of a kind fail in a SQLite file during the block."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"CREATE TRIGGER unusable BEFORE {change} BEGIN SELECT RAISE(ABORT, 'an outage'); END")
        try:
            yield
        finally:
            connection.execute("DROP TRIGGER unusable")


def pages_charged(
    endpoint: ServeSettings, folder: Path, monkeypatch: pytest.MonkeyPatch, *, broken: str = "", query: str = ""
) -> tuple[int, dict[str, int]]:
    """The pages that a key pays for four documents of two pages, and how these end.

    Args:
        broken: kind of changes that fail for a while, after `keys ` or `jobs `, which name the file.
        query: of the submission.
    """
    monkeypatch.setattr(runner, "_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.05)
    settings = replace(endpoint, keys=str(folder / "keys.db"), jobs=str(folder / "jobs.db"))
    with closing(KeyStore.open(settings.keys, create=True)) as store, processing(settings) as client:
        client.headers["Authorization"] = f"Bearer {store.create('acme', ['jobs'], pages_per_day=100)}"
        file, _, change = broken.partition(" ")
        with unusable(getattr(settings, file), change) if broken else nullcontext():
            job = client.post(f"/v1/jobs{query}", files=FILES).json()["id"]
            if broken:
                time.sleep(1.0)
                assert client.get(f"/v1/jobs/{job}").json()["documents"]["answered"] == 0
        until = time.monotonic() + 120
        while not ended(client, job):
            assert time.monotonic() < until
            time.sleep(0.05)
        before, pages = -1, pages_today(store)
        while before != pages:  # pages are given back after the end of their document is stored
            time.sleep(0.5)
            before, pages = pages, pages_today(store)
        return pages, client.get(f"/v1/jobs/{job}").json()["documents"]


def pages_today(store: KeyStore) -> int:
    key = store.named("acme")
    assert key is not None
    return key.pages_today


@pytest.mark.parametrize(
    "broken", ["", "jobs UPDATE OF pages ON documents WHEN NEW.pages IS NOT NULL", "keys INSERT ON pages"]
)
def test_the_pages_of_a_document_are_charged_once_though_a_database_cannot_be_used_for_a_while(
    endpoint: ServeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    pages, documents = pages_charged(endpoint, tmp_path, monkeypatch, broken=broken)
    assert (pages, documents["answered"]) == (2 * len(FILES), len(FILES))


def test_the_pages_of_a_document_are_charged_once_though_its_processing_is_killed_right_after(
    endpoint: ServeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_pages, killed = KeyHolder.take_pages, list[int]()

    async def taken_and_killed(caller: KeyHolder, pages: int) -> None:
        await take_pages(caller, pages)
        if not killed:
            killed.append(pages)
            raise asyncio.CancelledError

    monkeypatch.setattr(KeyHolder, "take_pages", taken_and_killed)
    pages, documents = pages_charged(endpoint, tmp_path, monkeypatch)
    assert killed == [2]
    assert (pages, documents["answered"]) == (2 * len(FILES), len(FILES))


def test_pages_of_documents_that_the_endpoint_could_not_answer_are_given_back(
    endpoint: ServeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, documents = pages_charged(endpoint, tmp_path, monkeypatch, query=f"?model={MODELS[-1]}")
    assert (pages, documents["failed"]) == (0, len(FILES))
