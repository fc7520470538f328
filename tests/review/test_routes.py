"""The routes below the page: sessions, tokens, owners, what is refused, pictures."""

import asyncio
import io
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image
from starlette.types import Message

from layoutray.cli.work.review import local_app
from layoutray.review.app import add_review_page
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from tests.review.documents import answered


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewStore]:
    opened = ReviewStore.open(str(tmp_path_factory.mktemp("routes") / "review.db"))
    yield opened
    opened.close()


@pytest.fixture
def client(store: ReviewStore) -> TestClient:
    return signed_in(local_app(store, "anna", "runs/answers"))


def signed_in(app: FastAPI, **more: Any) -> TestClient:
    client = TestClient(app, base_url="http://127.0.0.1", **more)
    session = client.post("/review/session", json={})
    assert session.json()["reviewer"] == "anna"
    client.headers["X-CSRF-Token"] = session.json()["token"]
    return client


def refused(response: httpx.Response, status: int, code: str) -> str:
    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text
    return response.json()["error"]["message"]


def body(client: TestClient, number: int, **changes: Any) -> dict[str, Any]:
    document = client.get(f"/review/documents/{number}").json()
    return {"revision": document["revision"], "values": document["values"], "done": False} | changes


def test_words_and_picture_of_a_page_read_no_value_of_the_document(store: ReviewStore, client: TestClient) -> None:
    number = store.add(answered("no values"))
    with store.database.transaction() as database:
        for table in ("said", "current"):
            database.exec_driver_sql(f"UPDATE {table} SET content = 'no JSON' WHERE document = ?", (number,))
    page = f"/review/documents/{number}/pages/1"
    assert client.get(page).json()
    assert client.get(f"{page}/picture").headers["Content-Type"] == "image/jpeg"


def test_nothing_is_shown_without_a_session_or_to_another_site(store: ReviewStore, client: TestClient) -> None:
    number = store.add(answered("session"))
    stranger = TestClient(client.app, base_url="http://127.0.0.1")
    refused(stranger.get(f"/review/documents/{number}"), 401, "no_session")
    refused(stranger.get(f"/review/documents/{number}/pages/1/picture"), 401, "no_session")
    sent = body(client, number, done=True)
    refused(client.put(f"/review/documents/{number}", json=sent, headers={"X-CSRF-Token": "x"}), 403, "wrong_token")
    form = {"Content-Type": "text/plain"}
    refused(stranger.post("/review/session", content=b"{}", headers=form), 422, "invalid_request")
    assert TestClient(client.app, base_url="http://evil.example").get("/").status_code == 400
    client.delete("/review/session")
    refused(client.get("/review/documents"), 401, "no_session")


def test_a_save_is_checked(store: ReviewStore, client: TestClient) -> None:
    number = store.add(answered("checked"))
    path = f"/review/documents/{number}"
    sent = body(client, number)
    for parts in (
        {"page": 9},
        {"page": None, "words": [0]},
        {"words": [10_000]},
        {"state": "wild"},
        {"text": "x" * 10_001},
    ):
        values = [{**sent["values"][0], **parts}, *sent["values"][1:]]
        assert client.put(path, json=sent | {"values": values}).status_code in (404, 422), parts
    assert "confirm, change or remove" in refused(client.put(path, json=sent | {"done": True}), 422, "not_looked_at")
    seen = [value | {"state": "confirmed"} for value in sent["values"]]
    assert client.put(path, json=sent | {"values": seen, "done": True}).json() == {"revision": 1, "state": "done"}
    message = refused(client.put(path, json=sent), 409, "conflict")
    assert "has changed since revision 0" in message
    assert client.get(f"{path}/history").json()[0]["action"] == "done"
    refused(client.put(path, content=b"[" * 9_000_000, headers={"Content-Type": "application/json"}), 413, "too_large")


def test_pictures_have_the_width_that_is_shown(store: ReviewStore, client: TestClient, tmp_path: Path) -> None:
    document = answered("pictures", tmp_path)
    path = f"/review/documents/{store.add(document)}/pages/1/picture"
    widths = [Image.open(io.BytesIO(client.get(f"{path}?width={width}").content)).width for width in (300, 9999)]
    assert widths == [320, document.pages[0].width]
    refused(client.get(path.replace("pages/1", "pages/7")), 404, "not_found")
    Path(document.pages[0].image).unlink()
    other = f"/review/documents/{store.add(answered('without-picture', tmp_path))}/pages/1/picture"
    (tmp_path / "without-picture.png").write_bytes(b"no picture")
    assert client.get(other).status_code == 404


def test_documents_are_those_of_their_owner(store: ReviewStore, client: TestClient) -> None:
    class OwnAuthenticator(Authenticator):
        async def authenticate(self, key: str) -> Visitor:
            return Visitor("owner", key="owner")

    number = store.add(answered("owned"), "owner")
    refused(client.get(f"/review/documents/{number}"), 404, "not_found")
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, OwnAuthenticator(), "anna"))
    owner = TestClient(app, base_url="http://127.0.0.1")
    assert owner.post("/review/session", json={}).json()["reviewer"] == "owner"
    assert owner.get(f"/review/documents/{number}").status_code == 200
    assert owner.get("/review/documents").json()["count"] == 1


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_no_body_is_read_without_a_session(client: TestClient, method: str) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> Message:
        raise AssertionError("the body was read")

    async def send(message: Message) -> None:
        sent.append(message)

    path = "/review/documents/1" if method == "PUT" else "/review/documents"
    headers = [(b"content-type", b"application/json"), (b"content-length", b"8000000"), (b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": headers}
    with ThreadPoolExecutor(1) as thread:  # the browser of other tests has a loop in this one
        thread.submit(lambda: asyncio.run(client.app(scope, receive, send))).result()  # pyright: ignore[reportArgumentType]
    assert sent[0]["status"] == 401
