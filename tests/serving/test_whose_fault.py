"""Failures say whose fault they are: what a client sends is never an error of the endpoint, and what passes is retried.

The review page below the endpoint obeys the same rules as the other routes.
"""

import asyncio
import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from layoutray.errors import RETRYABLE, DocumentError, Reason
from layoutray.review.store import ReviewStore
from layoutray.serving.access.auth import make_guard
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.failures import error_of
from layoutray.serving.jobs import runner
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.records import JobFile, Submission
from layoutray.serving.jobs.runner import JobRunner
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.serving.telemetry import Telemetry
from tests.cluster.running_endpoint import refused
from tests.ocr.files import pdf, typed
from tests.review.documents import answered
from tests.serving.in_process import application
from tests.serving.small_disk import small_disk

LOCAL = "http://127.0.0.1"
FORM, JSON = "multipart/form-data; boundary=b", "application/json"


@pytest.mark.parametrize("reason", Reason)
def test_what_may_pass_is_a_fault_of_the_endpoint_and_all_else_is_not(reason: Reason) -> None:
    error = error_of(DocumentError(reason, "why", stage="ocr"))
    assert (error.status >= 500, error.retryable) == (reason in RETRYABLE, reason in RETRYABLE)


class _Unreadable:
    """Answers no document."""

    def __init__(self, reason: Reason) -> None:
        self._error = error_of(DocumentError(reason, "why", stage="open"))

    async def count_pages(self, *_: object) -> int:
        raise self._error


@pytest.mark.parametrize("reason", Reason)
def test_a_job_tries_again_what_may_pass(reason: Reason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_WAIT_SECONDS", 0.0)
    with closing(Ledger.open(str(tmp_path / "jobs.db"))) as ledger:
        service: Any = _Unreadable(reason)
        jobs = JobRunner(ledger, service, make_guard("", "", Telemetry()), Limits(), at_once=lambda: 1)
        file = JobFile("a.pdf", "a" * 64, lambda: b"%PDF-")
        job, _ = ledger.add(Submission(owner="", options={"words": False}, files=[file]), 10)
        item = jobs.take([])
        assert item
        asyncio.run(jobs.process(item))
        found = ledger.status(job)
        assert found
        assert found.shown.documents.waiting == (reason in RETRYABLE)
        assert found.shown.documents.failed == (reason not in RETRYABLE)


@pytest.fixture
def client(endpoint: ServeSettings, tmp_path: Path) -> Iterator[TestClient]:
    """A person at the review page of an endpoint without keys, with one document in the queue."""
    file = str(tmp_path / "review.db")
    with closing(ReviewStore.open(file)) as store:
        store.add(answered("queued"))
    with application(replace(endpoint, keys="", jobs="", models={}, review=file)) as app:
        yield signed_in(TestClient(app, base_url=LOCAL, raise_server_exceptions=False))


def signed_in(client: TestClient, key: str = "") -> TestClient:
    client.headers["X-CSRF-Token"] = client.post("/review/session", json={"key": key}).json()["token"]
    return client


def test_numbers_beyond_those_that_are_stored_are_refused(client: TestClient) -> None:
    for number in (2**31, 2**63, 2**64, 10**400, -1):
        asked = asked_with(client, number)
        assert {response.status_code for response in asked} <= {404, 409, 422}, number
        assert all("error" in response.json() for response in asked), number


def asked_with(client: TestClient, number: int) -> Sequence[httpx.Response]:
    """Responses to requests for documents, pages, revisions and words of this number."""
    of_page = {"id": "x", "name": "n", "text": "t", "page": number, "words": [], "row": "", "state": "open"}
    body = {"revision": 0, "values": [], "done": False}
    return [
        *(client.get(f"/review/documents/{number}{more}") for more in ("", "/history", "/pages/1", "/pages/1/picture")),
        *(client.get(f"/review/documents/1/pages/{number}{more}") for more in ("", "/picture")),
        client.get(f"/review/documents?offset={number}"),
        client.get(f"/review/documents/1/pages/1/picture?width={number}"),
        client.put("/review/documents/1", json=body | {"revision": number}),
        client.put("/review/documents/1", json=body | {"values": [of_page]}),
        client.put("/review/documents/1", json=body | {"values": [of_page | {"page": 1, "words": [number]}]}),
    ]


@pytest.mark.ocr
def test_thin_pictures_are_answered_and_shown(client: TestClient) -> None:
    for size in ((1, 60_000), (60_000, 1), (1, 1)):
        stream = io.BytesIO()
        Image.new("RGB", size, "white").save(stream, "PNG")
        response = client.post("/review/documents", files={"file": ("a.png", stream.getvalue())})
        assert response.status_code == 200, response.text
        for width in (160, 9999):
            shown = client.get(f"/review/documents/{response.json()['number']}/pages/1/picture?width={width}")
            assert shown.headers["content-type"] == "image/jpeg", shown.text


@pytest.mark.ocr
def test_a_full_disk_under_the_review_page_is_said(endpoint: ServeSettings, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        file = str(disk.folder / "review.db")
        with closing(ReviewStore.open(file)) as store:
            store.add(answered("queued"))
        with application(replace(endpoint, keys="", jobs="", models={}, review=file)) as app:
            client = signed_in(TestClient(app, base_url=LOCAL, raise_server_exceptions=False))
            document = client.get("/review/documents/1").json()
            body: dict[str, Any] = {"revision": document["revision"], "values": document["values"][:1], "done": False}
            body["values"][0] |= {"text": "x" * 9000, "state": "confirmed"}
            disk.fill()
            upload = {"file": ("a.pdf", pdf(typed("Total 7", x=9, y=9)))}
            refused(client.post("/review/documents", files=upload), 503, "no_space")
            refused(client.put("/review/documents/1", json=body), 503, "no_space")
            refused(client.post("/review/session", json={}), 503, "no_space")
            disk.make_room()
            assert client.put("/review/documents/1", json=body).status_code == 200


def test_an_unexpected_error_of_the_review_page_is_logged_without_its_message(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("-".join(["Flibberti", "gibbet"]))

    monkeypatch.setattr(ReviewStore, "corrections", fail)
    refused(client.get("/review/documents/1/history"), 500, "internal")
    assert "ValueError" in caplog.text
    assert "Flibberti-gibbet" not in caplog.text


def test_a_session_counts_for_the_limits_of_its_key(endpoint: ServeSettings, tmp_path: Path) -> None:
    keys, audit = str(tmp_path / "keys.db"), tmp_path / "audit.jsonl"
    with closing(KeyStore.open(keys, create=True)) as store:
        key = store.create("acme", ["review"], requests_per_minute=4)
    settings = replace(endpoint, keys=keys, audit=str(audit), jobs="", models={}, review=str(tmp_path / "review.db"))
    with application(settings) as app:
        client = signed_in(TestClient(app), key)
        answers = [client.get("/review/documents") for _ in range(10)]
        assert [one.status_code for one in answers] == [200] * 3 + [429] * 7
        refused(answers[-1], 429, "rate_limited")
        assert int(answers[-1].headers["Retry-After"]) >= 1
        refused(client.post("/review/documents", files={"file": ("a", b"%PDF-")}), 429, "rate_limited")
    assert audit.read_text().count('"rate_limited"') == 8


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/v1/extract", FORM), ("/v1/jobs", JSON), ("/review/documents", FORM)]
    + [pytest.param(*other, marks=pytest.mark.slow) for other in (("/v1/extract", JSON), ("/v1/jobs", FORM))],
)
def test_a_client_that_leaves_during_its_upload_is_no_error(
    endpoint: ServeSettings, tmp_path: Path, path: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "layoutray")
    messages = iter([{"type": "http.request", "body": b"--b\r\n", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    async def send(_: object) -> None:
        raise AssertionError("nobody is there")

    with application(replace(endpoint, keys="", models={}, review=str(tmp_path / "review.db"))) as app:
        client = signed_in(TestClient(app, base_url=LOCAL))
        given = client.headers | {"host": "127.0.0.1", "content-type": kind, "content-length": "1000"}
        given |= {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        caplog.clear()
        scope: Any = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "root_path": ""}
        scope |= {"query_string": b"", "headers": headers, "scheme": "http", "http_version": "1.1"}
        asyncio.run(app(scope, receive, send))
    lines = [line for line in caplog.records if line.name.startswith("layoutray.serving")]
    assert [(line.levelname, line.status) for line in lines] == [("INFO", 499)], caplog.text  # pyright: ignore
