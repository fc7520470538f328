"""`layoutray review`: a folder of answers in a browser, and what people made of it as training data."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from layoutray.cli import review
from layoutray.errors import InputError
from layoutray.readers import load
from layoutray.review.store import ReviewStore
from tests.browser import chromium, opened
from tests.review.answer_folders import write_answers
from tests.review.documents import answered
from tests.review.on_page import saved, type_over

_START_SECONDS = 120


@contextlib.contextmanager
def reviewing(log_file: Path, *arguments: str, end: signal.Signals = signal.SIGINT) -> Iterator[str]:
    """Address of the verb's page. The verb is stopped by a signal; what it says is in `log_file`."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    command = [sys.executable, "-m", "pipelines.review", *arguments, "--port", str(port)]
    with log_file.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream)
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + _START_SECONDS
    try:
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(url, timeout=60)
                break
            time.sleep(0.1)
        yield url
    finally:
        process.send_signal(end)
        process.wait(_START_SECONDS)


@pytest.mark.browser
def test_a_folder_of_answers_is_reviewed_and_becomes_truth(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a", "b", "c"])
    (tmp_path / "review.csv").write_text("rank,doc_id\n1,id-b\n")
    log_file = tmp_path / "log"
    order = ["--order", str(tmp_path / "review.csv"), "--reviewer", "carla"]
    with reviewing(log_file, answers, "--pages", pages, *order) as url:
        with chromium() as browser, opened(browser, url) as page:
            page.goto("/")
            links = page.locator("table.documents a")
            expect(links.first).to_have_text("b.pdf")
            assert page.locator(".drop").count() == 0, "there is no model that could answer an upload"
            links.first.click()
            type_over(page, "total", "77.10")
            saved(page)
            page.keyboard.press("Control+Enter")
            page.get_by_role("button", name="Confirm all and finish").click()
            expect(page.locator(".document h1")).to_have_text(re.compile("a.pdf|c.pdf"))
            page.keyboard.press("q")
            expect(page.get_by_text("1 correction since the latest version")).to_be_visible()
            page.get_by_text("Commands that train on them").click()
            expect(page.get_by_text(f"layoutray train LABELLED_DOCUMENTS {answers} --out")).to_be_visible()
        assert httpx.get(url, headers={"Host": "evil.example"}, timeout=60).status_code == 400
    said = log_file.read_text()
    assert "3 documents; review them at http://127.0.0.1" in said
    assert "stopped" in said
    reader = load("reviewed")
    (item,) = reader.discover(answers)
    read = reader.read(item)
    assert read.document.doc_id == "id-b"
    assert ("total", "77.10") in {(field.name, field.value) for field in read.document.fields}
    assert read.pages[0].provenance.reason.startswith("reviewed by carla on ")


def test_a_review_goes_on_where_it_was(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a"])
    for count in (1, 1):
        with (
            reviewing(tmp_path / "log", answers, "--pages", pages) as url,
            httpx.Client(base_url=url, timeout=60) as client,
        ):
            session = client.post("/review/session", json={}).json()
            client.headers["X-CSRF-Token"] = session["token"]
            assert client.get("/review/documents").json()["count"] == count
            document = client.get("/review/documents/1").json()
            seen = [value | {"state": "confirmed"} for value in document["values"]]
            body = {"revision": document["revision"], "values": seen, "done": True}
            assert client.put("/review/documents/1", json=body).json() == {"revision": 1, "state": "done"}


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    _, pages = write_answers(tmp_path, ["a"])
    with pytest.raises(InputError, match="holds no jsonl"):
        review.main([pages, "--pages", pages])


def test_a_folder_with_a_review_file_alone_is_reviewed_and_has_all_in_one_file_after_a_signal(tmp_path: Path) -> None:
    folder, log_file = tmp_path / "disagreements", tmp_path / "log"
    folder.mkdir()
    store = ReviewStore.open(str(folder / "review.db"))
    store.add(answered("one"))
    store.close()
    with reviewing(log_file, str(folder), end=signal.SIGTERM) as url:
        assert httpx.get(url, timeout=60).status_code == 200
        assert (folder / "review.db-wal").exists()
    assert "1 documents; review them at" in log_file.read_text()
    assert [one.name for one in folder.iterdir()] == ["review.db"]
