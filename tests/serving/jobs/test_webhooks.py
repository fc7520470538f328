"""Webhooks of ended jobs: called until accepted, once for each host at a time, and known to the next process."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from layoutray.serving.jobs import ledger_loop, webhooks
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.receivers import Receivers, Reply
from layoutray.serving.jobs.records import JobFile, Submission
from layoutray.serving.jobs.schema import WebhookResponse
from layoutray.serving.jobs.webhooks import Webhooks
from tests.serving.ledger_places import LedgerPlace
from tests.serving.receiver import Receiver, receiving

LOOPBACK = Receivers.of(["127.0.0.1", "127.0.0.2"], ["127.0.0.0/8"])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once."""
    monkeypatch.setattr(webhooks, "DELAYS", (0.01,) * 7)
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.05)


def of(ledger: Ledger) -> Webhooks:
    return Webhooks(ledger, LOOPBACK)


def ended(ledger: Ledger, url: str, owner: str = "acme") -> str:
    """A job with a webhook, whose only document is answered."""
    file = JobFile("secretname.png", "hash", lambda: b"secretcontent")
    job, _ = ledger.add(Submission(owner=owner, options={}, webhook=url, files=[file]), 100)
    document = ledger.next((), owner)
    assert document is not None
    ledger.finish(document, "answered", {"answer": "secretanswer"})
    return job


def webhook(ledger: Ledger, job: str) -> WebhookResponse:
    found = of(ledger).of_job(job)
    assert found is not None
    return found


def run(ledger: Ledger, *jobs: str, receivers: Receivers = LOOPBACK, seconds: float = 20) -> None:
    """Call webhooks until those of `jobs` wait no more."""

    async def call() -> None:
        task = asyncio.create_task(Webhooks(ledger, receivers).run())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(webhook(ledger, job).state == "waiting" for job in jobs):
                    await asyncio.sleep(0.02)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(call())


def test_the_end_of_a_job_is_told_and_signed_without_content_of_documents(ledger: Ledger, receiver: Receiver) -> None:
    job = ended(ledger, receiver.url)
    run(ledger, job)
    (received,) = receiver.received
    body = json.loads(received.body)
    assert (body["type"], body["data"]["id"], body["data"]["state"]) == ("job.done", job, "done")
    assert body["data"]["documents"]["answered"] == 1
    assert b"secret" not in received.body
    key = base64.b64decode(of(ledger).secret("acme").removeprefix("whsec_"))
    signed = f"{received.headers['webhook-id']}.{received.headers['webhook-timestamp']}.".encode() + received.body
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert received.headers["webhook-signature"] == f"v1,{signature}"
    found = webhook(ledger, job)
    assert (found.state, found.next, [one.status for one in found.deliveries]) == ("delivered", None, [204])


@pytest.mark.usefixtures("soon")
def test_a_call_is_repeated_until_it_is_accepted(ledger: Ledger, receiver: Receiver) -> None:
    receiver.statuses = [500, 302, 204]
    job = ended(ledger, receiver.url)
    run(ledger, job)
    history = webhook(ledger, job).deliveries
    assert [(one.attempt, one.status, one.error is None) for one in history] == [
        (1, 500, False),
        (2, 302, False),
        (3, 204, True),
    ]
    assert len({received.headers["webhook-id"] for received in receiver.received}) == 1
    assert sorted(one.sent for one in history) == [one.sent for one in history]


@pytest.mark.usefixtures("soon")
def test_a_webhook_is_given_up_after_the_last_attempt(ledger: Ledger, receiver: Receiver) -> None:
    receiver.statuses = [500]
    job = ended(ledger, receiver.url)
    run(ledger, job)
    assert (webhook(ledger, job).state, len(webhook(ledger, job).deliveries)) == ("failed", 8)
    assert len(receiver.received) == 8


def test_a_receiver_that_is_gone_is_called_once(ledger: Ledger, receiver: Receiver) -> None:
    receiver.statuses = [410]
    job = ended(ledger, receiver.url)
    run(ledger, job)
    assert (webhook(ledger, job).state, len(receiver.received)) == ("failed", 1)


def test_another_process_goes_on_with_the_attempts(
    ledger: Ledger, receiver: Receiver, place: LedgerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ended(ledger, receiver.url)
    due = of(ledger).take(())
    assert due is not None
    assert of(ledger).record(due, Reply(5.0, 503, "the receiver answered with status 503")) == "waiting"
    ledger.close()
    again = place.open()
    due_at = webhook(again, job).next
    assert due_at
    assert 4 <= due_at.timestamp() - again.now() <= 5.5
    assert of(again).take(()) is None, "not yet"
    monkeypatch.setattr(again, "now", lambda: due_at.timestamp() + 1)
    assert (next_attempt := of(again).take(())) is not None
    assert next_attempt.attempt == 2


def test_a_webhook_is_due_when_its_job_has_ended_and_not_before(ledger: Ledger) -> None:
    url = "http://127.0.0.1:1/"
    files = [JobFile("a", "a", lambda: b"a"), JobFile("b", "b", lambda: b"b")]
    job, _ = ledger.add(Submission(owner="acme", options={}, webhook=url, files=files), 100)
    assert of(ledger).take(()) is None
    ledger.cancel(job)
    due = of(ledger).take(())
    assert due is not None
    assert (due.job, due.owner, due.url, due.attempt) == (job, "acme", url, 1)
    ledger.delete(job)
    assert of(ledger).take(()) is None
    assert of(ledger).record(due, Reply(1.0, 204, None)) == "delivered", "deleted during the call"
    assert of(ledger).of_job(job) is None


def test_a_slow_host_does_not_stop_another(ledger: Ledger, receiver: Receiver) -> None:
    receiver.seconds = 3.0
    slow = [ended(ledger, receiver.url) for _ in range(10)]
    with receiving("127.0.0.2") as quick:
        job = ended(ledger, quick.url)
        run(ledger, job, seconds=2.5)
        assert webhook(ledger, job).state == "delivered"
    assert len(receiver.received) == 1, "a host has one call at a time"
    assert [webhook(ledger, one).state for one in slow] == ["waiting"] * 10


def test_a_host_that_the_operator_has_removed_gets_nothing(ledger: Ledger, receiver: Receiver) -> None:
    job = ended(ledger, receiver.url)
    run(ledger, job, receivers=Receivers.of([], ["127.0.0.0/8"]), seconds=1)
    (attempt,) = webhook(ledger, job).deliveries
    assert "is not allowed" in (attempt.error or "")
    assert receiver.received == []


def test_each_owner_has_a_secret_that_stays_until_it_is_replaced(ledger: Ledger) -> None:
    secret = of(ledger).secret
    first, other = secret("acme"), secret("other")
    assert first == secret("acme") != other
    assert len(base64.b64decode(first.removeprefix("whsec_"))) == 32
    assert secret("acme", replace=True) == secret("acme") != first
    assert secret("other") == other
