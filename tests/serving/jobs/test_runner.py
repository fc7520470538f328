"""Jobs of the whole endpoint in this process, in both databases, and while the server of the ledger restarts."""

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from layoutray.serving.jobs import ledger_loop, postgresql, runner
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import refused
from tests.ocr.files import pdf, typed
from tests.serving.in_process import processing
from tests.serving.ledger_places import LedgerPlace

if TYPE_CHECKING:
    from tests.postgresql import Server

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
    endpoint: ServeSettings, postgresql_server: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.05)
    address = postgresql_server.schema()
    first = Ledger.open(address)
    first.check()
    with processing(replace(endpoint, keys="", models={}, jobs=address)) as client:
        job = sent(client)
        time.sleep(0.5)
        status = client.get(f"/v1/jobs/{job}").json()
        assert (status["documents"]["waiting"], status["unopened"]) == (len(FILES), len(FILES)), "nothing was begun"
        first.close()
        until = time.monotonic() + 120
        while not ended(client, job):
            assert time.monotonic() < until
            time.sleep(0.05)
