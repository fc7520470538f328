"""Reviewers at a real endpoint: whatever fails meanwhile, no answer of theirs is lost or counted twice."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import pytest

from layoutray.metrics import promise
from layoutray.readers.own.reviewed import READER
from layoutray.review.store import ReviewStore
from layoutray.serving.access.keys import KeyStore, Scope
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import refused
from tests.cluster.served import NODE, served
from tests.cluster.shared_ray import free_port
from tests.ocr.files import pdf, typed
from tests.serving.small_disk import small_disk

pytestmark = [pytest.mark.ray, pytest.mark.ocr, pytest.mark.slow, pytest.mark.timeout(1200)]

FIELDS = ("date", "total")
DOCUMENTS = 24
SCOPES: dict[str, Scope] = {"anna": "review", "bert": "admin", "carl": "admin"}
_PATIENCE = 300.0

Deed = tuple[int, str, str, str]
"""What a person did: number of the document, field or empty for all of it, action, text of the value or empty."""


class RevokedError(Exception):
    """The session of a reviewer has ended."""


class Reviewer(threading.Thread):
    """A person who works as the page does: what has failed is sent again, after the document was loaded again.

    Attributes:
        timeouts: of saves, in seconds. Some connections are lost before the answer comes.
        deeds: that the endpoint has acknowledged.
        refusals: the last one of each status.
    """

    def __init__(self, browser: httpx.Client, name: str, key: str) -> None:
        super().__init__(name=name, daemon=True)
        self.timeouts = [60, 60, 0.004]
        self.deeds: list[Deed] = []
        self.refusals: dict[int, httpx.Response] = {}
        self._random = Random(name)
        self._browser = browser
        self._browser.headers["X-CSRF-Token"] = self.load("POST", "/session", json={"key": key})["token"]

    def run(self) -> None:
        with suppress(RevokedError):
            while (question := self.load("GET", "/question")).get("id"):
                self.answer(question["number"], question["id"])

    def answer(self, number: int, value_id: str) -> None:
        """Confirm, remove or type over a value, and finish its document if no other is left."""
        action = self._random.choice(["confirmed", "removed", "changed"])

        def change(document: dict[str, Any]) -> Deed | None:
            (value,) = (one for one in document["values"] if one["id"] == value_id)
            if value["state"] != "open":
                return None
            value["state"] = "removed" if action == "removed" else "confirmed"
            value["text"] = f"{self.name} {number} {value_id}" if action == "changed" else value["text"]
            return number, value["name"], action, value["text"]

        self._do(number, change)
        if all(value["state"] != "open" for value in self.load("GET", f"/documents/{number}")["values"]):
            self.finish(number)

    def finish(self, number: int) -> None:
        self._do(number, lambda document: None if document["state"] == "done" else (number, "", "done", ""))

    def _do(self, number: int, change: Callable[[dict[str, Any]], Deed | None]) -> None:
        """Save a change of a document, unless somebody else has made it."""
        path, sent = f"/documents/{number}", None
        while deed := change(document := self.load("GET", path)):
            sent = deed
            body = {"revision": document["revision"], "values": document["values"], "done": deed[2] == "done"}
            with suppress(httpx.TransportError):
                if self.ask("PUT", path, json=body, timeout=self._random.choice(self.timeouts)).is_success:
                    break
        else:
            own = (one for one in self.load("GET", f"{path}/history") if one["reviewer"] == self.name)
            if sent not in [(number, one["name"], one["action"], one["after"] or "") for one in own]:
                return
        self.deeds.append(sent)

    def upload(self, text: str) -> int:
        return self.load("POST", "/documents", files={"file": (f"{text}.pdf", pdf(typed(text, x=50, y=700)))})["number"]

    def load(self, method: str, path: str, **given: Any) -> Any:
        """The JSON that the endpoint answers, as soon as it does."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if (response := self.ask(method, path, **given)).is_success:
                    return response.json()
            time.sleep(0.1)
        raise AssertionError(f"{self.name} has no answer to {method} {path}")

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        response = self._browser.request(method, f"/review{path}", **given)
        if not response.is_success:
            self.refusals[response.status_code] = response
            if response.status_code == 401:
                raise RevokedError
            assert response.status_code in (409, 503), response.text
        return response


def _wait(reached: Callable[[], object]) -> None:
    until = time.monotonic() + _PATIENCE
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.002)


def _deeds(people: Iterable[Reviewer]) -> list[tuple[str, Deed]]:
    return [(one.name, deed) for one in people for deed in one.deeds]


def test_every_acknowledged_answer_is_kept_promised_and_learnt_once(tmp_path: Path) -> None:
    """Two people at a time; lost connections, a revoked key, kill -9 of the endpoint, and a full disk."""
    save_untrained(tmp_path / "checkpoint", fields={name: {"required": True, "accept_from": 0.0} for name in FIELDS})
    url = f"http://127.0.0.1:{(port := free_port())}"
    with ExitStack() as browsers, small_disk(tmp_path / "disk") as disk:
        review, key_file = (str(disk.folder / name) for name in ("review.db", "keys.db"))
        keys = KeyStore.open(key_file, create=True)
        given = {name: keys.create(name, [scope]) for name, scope in SCOPES.items()}
        options = ["--review", review, "--review-sample", "1", "--keys", key_file, "--port", str(port)]

        def reviewer(name: str) -> Reviewer:
            browser = browsers.enter_context(httpx.Client(base_url=url, timeout=60))
            return Reviewer(browser, name, given[name])

        with served([str(tmp_path / "checkpoint"), *options], tmp_path / "log") as endpoint:
            anna, bert = people = [reviewer("anna"), reviewer("bert")]
            bert.timeouts = [60]  # a revoked key cannot ask what has become of a lost request
            numbers = [anna.upload(f"number {number}") for number in range(DOCUMENTS)]
            assert anna.upload("number 0") == numbers[0], "sent again"
            with ThreadPoolExecutor(2) as both:  # the same questions at once
                list(both.map(lambda one: [one.answer(number, "said-0") for number in numbers[:4]], people))
            assert len(_deeds(people)) == 4

            for one in people:
                one.start()
            _wait(lambda: len(bert.deeds) >= 5)
            keys.revoke("bert")
            bert.join(_PATIENCE)
            assert "sign in" in refused(bert.refusals[401], 401, "no_session")
            again = httpx.post(f"{url}/review/session", json={"key": given["bert"]})
            assert "revoked; ask the operator" in refused(again, 401, "invalid_key")
            people.append(carl := reviewer("carl"))
            carl.start()

            _wait(lambda: len(_deeds(people)) >= 20)
            endpoint.kill(NODE)
            endpoint.keep_running()
            _wait(lambda: len(_deeds(people)) >= 40)
            disk.fill()
            _wait(lambda: 503 in anna.refusals | carl.refusals)
            full = (anna.refusals | carl.refusals)[503]
            assert "nothing was stored; try again later" in refused(full, 503, "no_space")
            assert full.headers["Retry-After"]
            disk.make_room()
            for one in (anna, carl):
                one.join(_PATIENCE)
                assert not one.is_alive()
            for number in numbers:  # bert may have answered the last value of a document, and not finished it
                carl.finish(number)
            promised = carl.load("GET", "/promises")
            (downloaded := tmp_path / "download" / "reviewed.jsonl").parent.mkdir()
            downloaded.write_text(carl.ask("GET", "/reviewed.jsonl").text)
        keys.close()
        _check(people, review, promised, [str(disk.folder), str(downloaded.parent)])


def _check(people: Sequence[Reviewer], review: str, promised: Sequence[str], truths: Sequence[str]) -> None:
    done = _deeds(people)
    assert Counter((number, name) for _, (number, name, *_) in done).most_common(1)[0][1] == 1
    assert len(done) == DOCUMENTS * (len(FIELDS) + 1)
    assert all(len(one.deeds) > 4 for one in people)

    store = ReviewStore.open(review, create=False)
    kept = [
        (one.reviewer, (n, one.name, one.action, one.after.text if one.after else ""))
        for n in {n for _, (n, *_) in done}
        for one in store.corrections(n)
    ]
    assert sorted(kept) == sorted(done)

    for name in FIELDS:
        right = np.array([action == "confirmed" for _, (_, field, action, _) in done if field == name])
        shown = math.floor(1000 * promise.lower_bound(right, 0.1)) / 10
        expected = f"{name}: at least {shown:g} % of the accepted answers are right (risk 0.1, {DOCUMENTS} reviewed"
        assert [text for text in promised if text.startswith(expected)], promised

    ids = {number: entry.doc_id for _, (number, *_) in done if (entry := store.entry(number))}
    store.close()
    expected = [(ids[n], name, text) for _, (n, name, action, text) in done if action in ("confirmed", "changed")]
    for folder in truths:
        read = [READER.read(reference).document for reference in READER.discover(folder)]
        learnt = [(one.doc_id, field.name, field.value) for one in read for field in one.fields]
        assert sorted(learnt) == sorted(expected)
