"""A share of the documents of `/v1/extract` is in the review file, for the team of the key that has sent them."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from layoutray.review.queue import Filter, listed
from layoutray.review.store import ReviewStore
from layoutray.serving.access.auth import Caller
from layoutray.serving.access.keys import KeyStore, Scope
from layoutray.serving.answer import DocumentAnswer, answered
from layoutray.serving.outcome import Outcome
from layoutray.serving.review_share import MOST_WAITING, ReviewShare
from layoutray.serving.settings import ServeSettings
from layoutray.serving.submission import UploadedFile
from layoutray.serving.telemetry import Telemetry
from tests.browser import listening
from tests.cluster.running_endpoint import as_request, refused, rendered
from tests.ocr.files import pdf, typed
from tests.review.documents import drawn, page_of
from tests.serving.in_process import PLAIN, application

_FILES = [pdf(typed(f"Total {number}", x=9, y=9)) for number in range(4)]
_COUNTED = "layoutray_documents_drawn_for_review_total"


def _reviewing(endpoint: ServeSettings, file: Path, **changes: Any) -> ServeSettings:
    return replace(endpoint, jobs="", models={}, port=0, review=str(file), **changes)


@pytest.mark.ocr
def test_drawn_documents_are_shown_to_the_team_of_their_key_alone(endpoint: ServeSettings, tmp_path: Path) -> None:
    keys = KeyStore.open(endpoint.keys)
    scopes: dict[str, Scope] = {"in": "extract", "anna": "review", "bert": "review", "eve": "review"}
    team = {name: "" if name == "eve" else "bills" for name in scopes}
    key = {name: keys.create(f"share-{name}", [scope], team=team[name]) for name, scope in scopes.items()}
    keys.close()
    settings = _reviewing(endpoint, tmp_path / "review.db", review_share=1.0)
    with application(settings) as app, TestClient(app, base_url="http://127.0.0.1") as client:
        header = {"Authorization": f"Bearer {key['in']}"}
        for data in (*_FILES[:2], _FILES[0]):
            sent = client.post("/v1/extract", files={"file": ("a.pdf", data)}, headers=header)
            assert sent.status_code == 200, sent.text
        assert client.post("/v1/extract", json=as_request(*rendered()), headers=header).status_code == 200
        seen = {}
        for name in ("anna", "bert", "eve"):
            visitor = TestClient(app, base_url="http://127.0.0.1")
            session = visitor.post("/review/session", json={"key": key[name]}).json()
            assert (session["account"], session["reviewer"]) == (f"share-{name}", f"share-{name}")
            visitor.headers["X-CSRF-Token"] = session["token"]
            seen[name] = visitor.get("/review/documents?state=").json()["count"]
            picture = visitor.get("/review/documents/1/pages/1/picture")
            assert picture.status_code == (404 if name == "eve" else 200)
            if name == "bert":
                upload = visitor.post("/review/documents", files={"file": ("b.pdf", _FILES[0])})
                assert upload.json() == {"number": 1}, "it is there already"
        assert seen == {"anna": 2, "bert": 2, "eve": 0}, "words have no picture, and are left out"
        revoking = KeyStore.open(endpoint.keys)
        revoking.revoke("share-eve")
        revoking.close()
        refused(visitor.get("/review/documents"), 401, "no_session")
        assert (tmp_path / "review.db-wal").exists()
    assert not (tmp_path / "review.db-wal").exists(), "the stopped endpoint has written all into one file"


@pytest.mark.ocr
def test_an_answer_waits_for_no_file_and_is_given_when_its_document_cannot_be_kept(
    endpoint: ServeSettings, tmp_path: Path
) -> None:
    settings = _reviewing(endpoint, tmp_path / "review.db", keys="", review_share=1.0)
    with application(settings) as app, listening(app) as url, httpx.Client(base_url=url, timeout=60) as client:

        def send(number: int) -> None:
            sent = client.post("/v1/extract", files={"file": ("a.pdf", _FILES[number])})
            assert sent.status_code == 200, sent.text

        def until(outcome: str, count: int) -> None:
            while f'{_COUNTED}{{outcome="{outcome}"}} {count}.0' not in client.get("/metrics").text:
                pass

        send(0)
        until("stored", 1)
        other = sqlite3.connect(tmp_path / "review.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        send(1)
        send(2)
        other.execute("ROLLBACK")
        until("stored", 3)
        other.execute("DROP TABLE pages")
        other.close()
        send(3)
        until("failed", 1)


def _answers(count: int) -> list[DocumentAnswer]:
    image, words = drawn("shared")
    model = replace(PLAIN, path="/v1/extract", writes=False)
    files = (UploadedFile(f"{number:064x}", "a.png", b"") for number in range(count))
    return [
        answered(file, model, [Outcome(page=page_of(image, words, doc_id=file.doc_id))], None, 0.0) for file in files
    ]


def _put(share: ReviewShare, answers: Sequence[DocumentAnswer]) -> None:
    async def put() -> None:
        tasks = [task for one in answers if (task := share.task(one, Caller()))]
        await asyncio.gather(*(task() for task in tasks))

    asyncio.run(put())


def test_the_same_documents_are_drawn_again_and_more_of_them_for_a_larger_share(tmp_path: Path) -> None:
    answers = _answers(200)
    kept: list[set[str]] = []
    for number, share in enumerate((0.1, 0.1, 0.3)):
        store = ReviewStore.open(str(tmp_path / f"{number}.db"))
        for one in answers:
            _put(ReviewShare(store, share, Telemetry()), [one])
        kept.append({entry.doc_id for entry in listed(store, Filter(), 0, 500)[0]})
        store.close()
    assert kept[0] == kept[1] < kept[2]
    assert 8 < len(kept[0]) < 35 < len(kept[2]) < 90


def test_documents_that_would_pile_up_are_left_out_and_counted(tmp_path: Path) -> None:
    store, telemetry = ReviewStore.open(str(tmp_path / "review.db")), Telemetry()
    share = ReviewShare(store, 1.0, telemetry)
    with store.database.connection():
        putting = threading.Thread(target=_put, args=(share, _answers(MOST_WAITING + 2)))
        putting.start()
        while f'{_COUNTED}{{outcome="left_out"}} 2.0' not in telemetry.exposition():
            pass
    putting.join()
    assert f'{_COUNTED}{{outcome="stored"}} {MOST_WAITING:.1f}' in telemetry.exposition()
    store.close()
