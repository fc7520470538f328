"""The ledger of jobs: accepted once, ended once, and nothing left of what was deleted."""

import asyncio
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from layoutray.document.answers import Problem
from layoutray.errors import InputError
from layoutray.serving.jobs import ledger as module
from layoutray.serving.jobs.ledger import DifferentSubmissionError, Ledger
from layoutray.serving.jobs.page_ledger import PagesOfDocument, page_results
from layoutray.serving.jobs.receivers import Receivers, Reply
from layoutray.serving.jobs.records import JobFile, Submission, WaitingDocument
from layoutray.serving.jobs.schema import JobResponse
from layoutray.serving.jobs.tables import DOCUMENTS
from layoutray.serving.jobs.webhooks import Webhooks
from layoutray.serving.outcome import Outcome
from tests.serving.jobs import older_ledgers
from tests.serving.jobs.test_page_ledger import model
from tests.serving.ledger_places import LedgerPlace

MOST = 100
"""Documents that may wait."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


def added(ledger: Ledger, *contents: bytes, key: str | None = None, owner: str = "acme") -> str:
    files = [JobFile(f"{at}.png", sha256(data).hexdigest(), lambda data=data: data) for at, data in enumerate(contents)]
    return ledger.add(Submission(owner=owner, options={"words": False}, idempotency_key=key, files=files), MOST)[0]


def status(ledger: Ledger, job: str) -> JobResponse:
    found = ledger.status(job)
    assert found is not None
    return found.shown


def num_waiting(ledger: Ledger) -> int:
    return len(ledger.database.rows(select(DOCUMENTS.c.number).where(DOCUMENTS.c.state == "waiting")))


def taken(ledger: Ledger) -> WaitingDocument:
    document = ledger.next((), "acme")
    assert document is not None
    return document


def results(ledger: Ledger, job: str, after: int = 0, limit: int = 100) -> list[Mapping[str, Any]]:
    return list(ledger.results(job, after, limit))


def test_documents_are_opened_first_then_answered_and_their_content_goes(ledger: Ledger, place: LedgerPlace) -> None:
    job = added(ledger, b"first content", b"second content")
    for pages in (2, 3):
        document = taken(ledger)
        ledger.opened(document, pages, document.content)
    found = status(ledger, job)
    assert (found.state, found.pages.done, found.pages.left, found.unopened) == ("running", 0, 5, 0)
    first = taken(ledger)
    assert (first.data, first.pages, first.owner, first.name) == (b"first content", 2, "acme", "0.png")
    assert ledger.finish(first, "answered", {"answer": 1})
    found = status(ledger, job)
    assert (found.pages.done, found.pages.left, found.documents.answered) == (2, 3, 1)
    assert ledger.finish(taken(ledger), "failed", {"error": 2})
    assert status(ledger, job).state == "done"
    assert ledger.next((), "acme") is None
    assert [(line["number"], line["file"], line["state"]) for line in results(ledger, job)] == [
        (1, "0.png", "answered"),
        (2, "1.png", "failed"),
    ]
    ledger.close()
    assert place.having(b"first content") == []


def test_a_document_ends_once(ledger: Ledger) -> None:
    job = added(ledger, b"content")
    document = taken(ledger)
    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(lambda at: ledger.finish(document, "answered", {"answer": at}), range(16)))
    assert stored.count(True) == 1
    assert results(ledger, job)[0]["answer"] == stored.index(True)


def test_equal_files_of_a_job_are_one_document_with_a_result_for_each(ledger: Ledger) -> None:
    job = added(ledger, b"same", b"other", b"same")
    assert status(ledger, job).documents.waiting == 2
    assert ledger.finish(taken(ledger), "answered", {"answer": "of same"})
    assert [(line["position"], line["number"]) for line in results(ledger, job)] == [(0, 1), (2, 1)]


def test_the_same_submission_gives_the_same_job_and_another_is_refused(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as threads:
        jobs = set(threads.map(lambda _: added(ledger, b"content", key="order 1"), range(16)))
    (job,) = jobs
    assert num_waiting(ledger) == 1
    assert added(ledger, b"content", key="order 1", owner="other") != job, "a key is its owner's"
    assert added(ledger, b"content") != added(ledger, b"content"), "without a key every submission is new"
    with pytest.raises(DifferentSubmissionError):
        added(ledger, b"other content", key="order 1")
    ledger.delete(job)
    assert added(ledger, b"content", key="order 1") != job


def test_a_job_is_accepted_whole_or_not_at_all(ledger: Ledger) -> None:
    def broken() -> bytes:
        raise OSError("the upload is gone")

    files = [JobFile("a", "1", lambda: b"content"), JobFile("b", "2", broken)]
    with pytest.raises(OSError, match="gone"):
        ledger.add(Submission(owner="acme", options={}, idempotency_key="order 1", files=files), MOST)
    assert num_waiting(ledger) == 0
    assert ledger.next((), "acme") is None


def test_nothing_is_left_of_a_deleted_job(ledger: Ledger, place: LedgerPlace) -> None:
    job = added(ledger, b"content of a deleted file" * 1000, b"other")
    waiting, _ = taken(ledger), ledger.finish(taken(ledger), "answered", {"answer": "words of a deleted file" * 1000})
    other = ledger.next([waiting.number], "acme")
    assert other is not None
    assert ledger.delete(job)
    assert not ledger.delete(job)
    assert ledger.status(job) is None
    assert not ledger.finish(other, "answered", {"answer": "late"}), "an answer that comes late is not stored"
    assert results(ledger, job) == []
    assert place.having(b"of a deleted file") == [], "neither content nor answer, while the ledger is open"


def test_cancelling_keeps_results_and_ends_the_job(ledger: Ledger) -> None:
    job, ended = added(ledger, b"first", b"second"), added(ledger, b"third")
    first, second = taken(ledger), ledger.next([taken(ledger).number], "acme")
    assert second is not None
    assert ledger.finish(first, "answered", {"answer": 1})
    for _ in range(2):
        ledger.cancel(job)
    assert not ledger.finish(second, "answered", {"answer": 2})
    assert (status(ledger, job).state, status(ledger, job).documents.cancelled) == ("cancelled", 1)
    assert [line["answer"] for line in results(ledger, job)] == [1]
    assert ledger.finish(taken(ledger), "answered", {})
    ledger.cancel(ended)
    assert status(ledger, ended).state == "done", "there was nothing to cancel"


def test_jobs_are_deleted_some_time_after_their_end(ledger: Ledger) -> None:
    ended, running = added(ledger, b"first"), added(ledger, b"second")
    ledger.finish(taken(ledger), "answered", {})
    assert ledger.delete_ended(60) == 0
    assert ledger.delete_ended(-1) == 1
    assert ledger.status(ended) is None
    assert status(ledger, running).state == "running", "however long it takes"


def test_results_come_in_parts(ledger: Ledger) -> None:
    job = added(ledger, *(b"%d" % number for number in range(10)))
    for _ in range(7):
        ledger.finish(taken(ledger), "answered", {})
    assert [line["number"] for line in results(ledger, job, limit=3)] == [1, 2, 3]
    assert [line["number"] for line in results(ledger, job, after=3)] == [4, 5, 6, 7]
    assert results(ledger, job, after=7) == []


def test_what_another_process_has_accepted_is_there_after_it_was_killed(ledger: Ledger, place: LedgerPlace) -> None:
    job = added(ledger, b"content")
    document = taken(ledger)
    ledger.start(document)  # and then its process dies
    again = taken(place.open())
    assert (again.number, again.job, again.data, again.starts) == (document.number, job, b"content", 1)


def test_no_clock_that_jumps_deletes_a_job_or_keeps_it_for_ever(place: LedgerPlace) -> None:
    times = [1000.0]
    ledger = place.open(lambda: times[-1])
    job = added(ledger, b"content")
    ledger.finish(taken(ledger), "answered", {})
    times.append(10**9)
    assert ledger.delete_ended(60) == 0, "put forward while the endpoint runs"
    ledger.close()
    times.append(10.0)
    ledger = place.open(lambda: times[-1])
    end = status(ledger, job).ended
    assert end
    assert ledger.now() >= end.timestamp() >= 1000, "put back before a start"
    assert ledger.delete_ended(60) == 0
    ledger.close()
    times.append(1100.0)
    assert place.open(lambda: times[-1]).delete_ended(60) == 1, "the endpoint has stood still"


def object_job(ledger: Ledger, *addresses: str) -> str:
    files = [JobFile(address, address, None) for address in addresses]
    return ledger.add(Submission(owner="acme", options={"words": False}, files=files), MOST)[0]


def test_an_object_has_its_address_until_its_content_is_known(ledger: Ledger) -> None:
    job = object_job(ledger, "s3://scans/a.png", "s3://scans/b.png")
    first = taken(ledger)
    assert (first.address, first.content, first.data, first.pages) == ("s3://scans/a.png", "", b"", None)
    ledger.opened(first, 1, "hash")
    assert ledger.finish(taken(ledger), "failed", {"error": 1}), "it was not found"
    again = taken(ledger)
    assert (again.number, again.address, again.content, again.data) == (first.number, "s3://scans/a.png", "hash", b"")
    ledger.finish(again, "answered", {"answer": 1})
    assert [(line["file"], line["doc_id"]) for line in results(ledger, job)] == [
        ("s3://scans/b.png", None),
        ("s3://scans/a.png", "hash"),
    ]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_an_object_with_the_content_of_another_waits_for_it(
    ledger: Ledger, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", rows)
    object_job(ledger, "s3://scans/a", "s3://scans/b", "s3://scans/c")
    for content in ("same", "same", "other"):
        ledger.opened(taken(ledger), 1, content)
    first = taken(ledger)
    other = ledger.next([first.number], "acme")
    assert other is not None
    assert other.address == "s3://scans/c"
    assert ledger.next([first.number, other.number], "acme") is None
    ledger.finish(first, "answered", {})
    assert taken(ledger).address == "s3://scans/b"


def sent_before() -> Submission:
    """The submission of the job in an older ledger."""
    files = [JobFile("a", "first", None), JobFile("b", "second", None)]
    return Submission(owner="acme", options={"words": False}, idempotency_key="order 1", files=files)


def goes_on(ledger: Ledger) -> None:
    """Work off the job of an older ledger."""
    assert ledger.add(sent_before(), MOST) == (older_ledgers.JOB, False)
    assert [(line["file"], line["doc_id"], line["answer"]) for line in results(ledger, older_ledgers.JOB)] == [
        ("a", "first", 1)
    ]
    assert (status(ledger, older_ledgers.JOB).pages.done, status(ledger, older_ledgers.JOB).pages.left) == (2, 2)
    document = taken(ledger)
    assert (document.name, document.content, document.data, document.pages) == ("b", "second", b"content", 2)
    assert ledger.finish(document, "answered", {"answer": 2})
    assert status(ledger, older_ledgers.JOB).state == "done"
    added(ledger, b"new")
    assert taken(ledger).number > document.number


def test_a_file_of_version_1_goes_on_as_one_of_this_version(file: Path) -> None:
    older_ledgers.make_file(file, version=1)
    Ledger.open(str(file)).close()
    ledger = Ledger.open(str(file))
    goes_on(ledger)
    fresh = Ledger.open(str(file.with_name("fresh.db")))
    for table in ("pages", "webhooks", "deliveries", "webhook_secrets"):
        assert columns(ledger, table) == columns(fresh, table)
    assert sorted(columns(ledger, "documents")) == sorted(columns(fresh, "documents"))


def columns(ledger: Ledger, table: str) -> list[tuple[str, str]]:
    """Name and type of the columns of a table."""
    return [(row["name"], row["type"]) for row in ledger.database.rows(f"PRAGMA table_info({table})")]


def test_a_ledger_that_was_made_without_sqlalchemy_goes_on(place: LedgerPlace) -> None:
    """Its pages, webhooks and secrets too."""
    if place.server:
        older_ledgers.make_on_server(place.server, place.address)
    else:
        older_ledgers.make_file(Path(place.address), version=2)
    ledger = place.open()
    document, webhooks = taken(ledger), Webhooks(ledger, Receivers.of([], []))
    pages = PagesOfDocument(ledger.database, document, model("v1"))
    assert [line["line"] for line in page_results(ledger.database, older_ledgers.JOB, 0, 9)] == [1]
    known = asyncio.run(pages.get(1))
    assert known is not None
    assert known.ocr == 1.5
    assert status(ledger, older_ledgers.JOB).pages.done == 3
    asyncio.run(
        pages.put(
            2,
            Outcome(
                page=None,
                problem=Problem(code="unreadable", stage="render", message="no", retryable=False, page_number=2),
            ),
        )
    )
    assert [line["number"] for line in page_results(ledger.database, older_ledgers.JOB, 0, 9)] == [1, 2]
    assert ledger.finish(document, "answered", {"answer": 2})
    assert webhooks.secret("acme") == "whsec_old"
    due = webhooks.take(())
    assert due is not None
    assert (due.job, due.url, due.attempt) == (older_ledgers.JOB, "https://hooks.example.com/", 2)
    webhooks.record(due, Reply(1.0, 204, None))
    shown = webhooks.of_job(older_ledgers.JOB)
    assert shown is not None
    assert [(one.attempt, one.status) for one in shown.deliveries] == [(1, 503), (2, 204)]
    added(ledger, b"new")
    assert taken(ledger).number > document.number
    assert ledger.delete(older_ledgers.JOB)
    assert place.having(older_ledgers.JOB.encode()) == []


def test_a_migration_that_fails_changes_nothing(file: Path) -> None:
    older_ledgers.make_file(file, version=1)
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE webhooks (job TEXT)")
    connection.close()
    before = file.read_bytes()
    for _ in range(2):
        with pytest.raises(InputError, match=r"cannot be opened as a job ledger: table webhooks already exists"):
            Ledger.open(str(file))
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert [row[1] for row in connection.execute("PRAGMA table_info(documents)")][-1] == "data"
    assert len(before) == len(file.read_bytes())


def test_a_ledger_of_a_later_version_is_refused_by_name(file: Path) -> None:
    Ledger.open(str(file)).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(InputError, match=r"jobs\.db is a job ledger of version 3; this layoutray uses version 2"):
        Ledger.open(str(file))


@pytest.mark.parametrize("end", ["answered", "failed", "cancel", "delete", "expire"])
def test_no_file_has_the_content_of_a_document_that_has_ended(ledger: Ledger, place: LedgerPlace, end: str) -> None:
    content = b"secretcontent" * 5000
    job = added(ledger, content)
    assert place.having(b"secretcontent") or place.server
    document = taken(ledger)
    if end in ("answered", "failed"):
        ledger.finish(document, end, {})
    else:
        ledger.cancel(job)
    if end == "delete":
        ledger.delete(job)
    elif end == "expire":
        assert ledger.delete_ended(-1.0) == 1
    assert place.having(b"secretcontent") == []
