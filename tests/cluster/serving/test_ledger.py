"""The ledger of jobs: accepted once, ended once, and nothing left of what was deleted."""

import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from layoutray.cluster.serving.ledger import DifferentSubmissionError, JobFile, JobStatus, Ledger, WaitingDocument
from layoutray.errors import InputError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def ledger(file: Path) -> Ledger:
    return Ledger.open(str(file))


def added(ledger: Ledger, *contents: bytes, key: str | None = None, owner: str = "acme") -> str:
    files = [JobFile(f"{at}.png", sha256(data).hexdigest(), lambda data=data: data) for at, data in enumerate(contents)]
    fingerprint = sha256(b"|".join(contents)).hexdigest()
    return ledger.add(owner, files, {"words": False}, fingerprint, key)[0]


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


def test_documents_are_opened_first_then_answered_and_their_content_goes(ledger: Ledger, file: Path) -> None:
    job = added(ledger, b"first content", b"second content")
    for pages in (2, 3):
        ledger.opened(taken(ledger), pages)
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
    assert [name for name in file.parent.iterdir() if b"first content" in name.read_bytes()] == []


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
        ledger.add("acme", files, {}, "", "order 1")
    assert ledger.num_waiting() == 0
    assert ledger.next(()) is None


def test_nothing_is_left_of_a_deleted_job(ledger: Ledger, file: Path) -> None:
    job = added(ledger, b"content of a deleted file" * 1000, b"other")
    waiting, _ = taken(ledger), ledger.finish(taken(ledger), "answered", {"answer": "words of a deleted file" * 1000})
    other = ledger.next([waiting.number])
    assert other is not None
    assert ledger.delete(job)
    assert not ledger.delete(job)
    assert ledger.status(job) is None
    assert not ledger.finish(other, "answered", {"answer": "late"}), "an answer that comes late is not stored"
    assert results(ledger, job) == []
    kept = [path for path in file.parent.iterdir() if b"of a deleted file" in path.read_bytes()]
    assert kept == [], "neither content nor answer is in any file, while the ledger is open"


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
    moment = status(ledger, ended).ended
    assert moment is not None
    assert ledger.delete_ended_before(moment) == 0
    assert ledger.delete_ended_before(moment + 1) == 1
    assert ledger.status(ended) is None
    assert status(ledger, running).state == "running", "however long it takes"


def test_results_come_in_parts(ledger: Ledger) -> None:
    job = added(ledger, *(b"%d" % number for number in range(10)))
    for _ in range(7):
        ledger.finish(taken(ledger), "answered", {})
    assert [line["number"] for line in results(ledger, job, limit=3)] == [1, 2, 3]
    assert [line["number"] for line in results(ledger, job, after=3)] == [4, 5, 6, 7]
    assert results(ledger, job, after=7) == []


def test_what_another_process_has_accepted_is_there_after_it_was_killed(ledger: Ledger, file: Path) -> None:
    job = added(ledger, b"content")
    document = taken(ledger)
    ledger.start(document)  # and then its process dies
    again = taken(Ledger.open(str(file)))
    assert (again.number, again.job, again.data, again.starts) == (document.number, job, b"content", 1)


def test_a_ledger_of_another_version_is_refused_by_name(ledger: Ledger, file: Path) -> None:
    ledger.close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(InputError, match=r"jobs\.db is a job ledger of version 2; this layoutray uses version 1"):
        Ledger.open(str(file))
