"""The ledger of jobs: accepted once, ended once, and nothing left of what was deleted."""

import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from layoutray.errors import InputError
from layoutray.serving.jobs import ledger as module
from layoutray.serving.jobs.ledger import DifferentSubmissionError, Ledger
from layoutray.serving.jobs.records import JobFile, JobStatus, Submission, WaitingDocument
from tests.serving.ledger_places import LedgerPlace


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


def added(ledger: Ledger, *contents: bytes, key: str | None = None, owner: str = "acme") -> str:
    files = [JobFile(f"{at}.png", sha256(data).hexdigest(), lambda data=data: data) for at, data in enumerate(contents)]
    fingerprint = sha256(b"|".join(contents)).hexdigest()
    return ledger.add(Submission(owner, {"words": False}, fingerprint, key), files)[0]


def status(ledger: Ledger, job: str) -> JobStatus:
    found = ledger.status(job)
    assert found is not None
    return found[1]


def taken(ledger: Ledger) -> WaitingDocument:
    document = ledger.next(())
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
    assert (found.state, found.pages_done, found.pages_left, found.unopened) == ("running", 0, 5, 0)
    first = taken(ledger)
    assert (first.data, first.pages, first.owner, first.name) == (b"first content", 2, "acme", "0.png")
    assert ledger.finish(first, "answered", {"answer": 1})
    found = status(ledger, job)
    assert (found.pages_done, found.pages_left, found.documents["answered"]) == (2, 3, 1)
    assert ledger.finish(taken(ledger), "failed", {"error": 2})
    assert status(ledger, job).state == "done"
    assert ledger.next(()) is None
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
    assert status(ledger, job).documents["waiting"] == 2
    assert ledger.finish(taken(ledger), "answered", {"answer": "of same"})
    assert [(line["position"], line["number"]) for line in results(ledger, job)] == [(0, 1), (2, 1)]


def test_the_same_submission_gives_the_same_job_and_another_is_refused(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as threads:
        jobs = set(threads.map(lambda _: added(ledger, b"content", key="order 1"), range(16)))
    (job,) = jobs
    assert ledger.num_waiting() == 1
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
        ledger.add(Submission("acme", {}, "", "order 1"), files)
    assert ledger.num_waiting() == 0
    assert ledger.next(()) is None


def test_nothing_is_left_of_a_deleted_job(ledger: Ledger, place: LedgerPlace) -> None:
    job = added(ledger, b"content of a deleted file" * 1000, b"other")
    waiting, _ = taken(ledger), ledger.finish(taken(ledger), "answered", {"answer": "words of a deleted file" * 1000})
    other = ledger.next([waiting.number])
    assert other is not None
    assert ledger.delete(job)
    assert not ledger.delete(job)
    assert ledger.status(job) is None
    assert not ledger.finish(other, "answered", {"answer": "late"}), "an answer that comes late is not stored"
    assert results(ledger, job) == []
    assert place.having(b"of a deleted file") == [], "neither content nor answer, while the ledger is open"


def test_cancelling_keeps_results_and_ends_the_job(ledger: Ledger) -> None:
    job, ended = added(ledger, b"first", b"second"), added(ledger, b"third")
    first, second = taken(ledger), ledger.next([taken(ledger).number])
    assert second is not None
    assert ledger.finish(first, "answered", {"answer": 1})
    for _ in range(2):
        ledger.cancel(job)
    assert not ledger.finish(second, "answered", {"answer": 2})
    assert (status(ledger, job).state, status(ledger, job).documents["cancelled"]) == ("cancelled", 1)
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
    assert ledger.clock.now() >= (status(ledger, job).ended or 0) >= 1000, "put back before a start"
    assert ledger.delete_ended(60) == 0
    ledger.close()
    times.append(1100.0)
    assert place.open(lambda: times[-1]).delete_ended(60) == 1, "the endpoint has stood still"


def object_job(ledger: Ledger, *addresses: str) -> str:
    files = [JobFile(address, address, None) for address in addresses]
    return ledger.add(Submission("acme", {"words": False}, ""), files)[0]


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
    other = ledger.next([first.number])
    assert other is not None
    assert other.address == "s3://scans/c"
    assert ledger.next([first.number, other.number]) is None
    ledger.finish(first, "answered", {})
    assert taken(ledger).address == "s3://scans/b"


def version_1(file: Path) -> None:
    """Write a ledger as layoutray made it at first, with a job of an answered document and one that waits."""
    connection = sqlite3.connect(file)
    connection.executescript(VERSION_1)
    connection.execute("INSERT INTO jobs VALUES ('old', 'acme', 'order 1', 'print', '{\"words\": false}', 7, NULL, 0)")
    adding = "INSERT INTO documents (job, doc_id, state, pages, ended, result, data) VALUES ('old', ?, ?, 2, ?, ?, ?)"
    connection.execute(adding, ("first", "answered", 1, '{"answer": 1}', None))
    connection.execute(adding, ("second", "waiting", None, None, b"content"))
    connection.executemany("INSERT INTO files VALUES ('old', ?, ?, ?)", [(0, "a", "first"), (1, "b", "second")])
    connection.commit()
    connection.close()


def test_a_ledger_of_an_earlier_version_goes_on_as_one_of_this_version(file: Path) -> None:
    version_1(file)
    Ledger.open(str(file)).close()
    ledger = Ledger.open(str(file))
    assert [(line["file"], line["doc_id"], line["answer"]) for line in results(ledger, "old")] == [("a", "first", 1)]
    document = taken(ledger)
    assert (document.name, document.content, document.data, document.pages) == ("b", "second", b"content", 2)
    assert ledger.finish(document, "answered", {"answer": 2})
    assert status(ledger, "old").state == "done"
    assert ledger.find(Submission("acme", {}, "print", "order 1")) == "old"
    fresh = Ledger.open(str(file.with_name("fresh.db")))
    for table in ("pages", "webhooks", "deliveries", "webhook_secrets"):
        assert tables(ledger, table) == tables(fresh, table)
    assert sorted(tables(ledger, "documents")) == sorted(tables(fresh, "documents"))


def tables(ledger: Ledger, table: str) -> list[tuple[Any, ...]]:
    """Name, type and key of the columns of a table."""
    return [tuple(row)[1:4] for row in ledger.database.rows(f"PRAGMA table_info({table})")]


def test_a_migration_that_fails_changes_nothing(file: Path) -> None:
    version_1(file)
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


VERSION_1 = """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        idempotency_key TEXT,
        fingerprint TEXT NOT NULL,
        options TEXT NOT NULL,
        created REAL NOT NULL,
        ended REAL,
        cancelled INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, idempotency_key)
    );
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        doc_id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting',
        pages INTEGER,
        starts INTEGER NOT NULL DEFAULT 0,
        ended INTEGER,
        result TEXT,
        data BLOB,
        UNIQUE (job, doc_id),
        UNIQUE (job, ended)
    );
    CREATE INDEX waiting ON documents (state, pages IS NULL, number);
    CREATE INDEX progress ON documents (job, state, pages);
    CREATE TABLE files (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        doc_id TEXT NOT NULL,
        PRIMARY KEY (job, position)
    );
    CREATE INDEX contents ON files (job, doc_id, position);
    PRAGMA application_id = 1819437666;
    PRAGMA user_version = 1
"""
