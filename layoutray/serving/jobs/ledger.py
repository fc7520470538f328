"""The ledger of jobs: everything that was accepted, what is answered, and nothing of what was deleted.

It is one SQLite file, or a database of a PostgreSQL server, with the documents that wait in it. What the ledger says is
true; everything in memory is a hint. After the death of any process, the documents that the ledger has as waiting are
processed again.

The unit is the document: its fields come from all its pages. Its key is the job and the SHA-256 of its content, so that
two files of a job with the same content are answered once. The options belong to the job. An object of a bucket is read
when it is opened; until then its key is its address.

`page_ledger` keeps the pages of documents that are not answered yet, `deliveries` what webhooks are told.
"""

import json
import secrets
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any, Literal

from layoutray.errors import InputError
from layoutray.serving.jobs.clock import SteadyClock
from layoutray.serving.jobs.database_server import DATABASE_ERRORS
from layoutray.serving.jobs.ledger_database import LedgerDatabase, Row, Transaction, open_ledger_database
from layoutray.serving.jobs.records import DocumentState, JobFile, JobState, JobStatus, Submission, WaitingDocument

_ROWS_AT_ONCE = 100


class DifferentSubmissionError(Exception):
    """The owner has used this idempotency key for other files or options."""


class Ledger:
    """The jobs in one database."""

    def __init__(self, database: LedgerDatabase, clock: SteadyClock) -> None:
        self.database = database
        self.clock = clock

    @classmethod
    def open(cls, address: str, system: Callable[[], float] = time.time) -> "Ledger":
        """The ledger in a file, or at an address, which is created if there is none.

        Args:
            system: gives the system's time.

        Raises:
            InputError, MissingDependencyError: see `open_ledger_database`.
        """
        database = open_ledger_database(address)
        (found,) = database.rows(_LATEST)
        return cls(database, SteadyClock(found["latest"], system))

    def close(self) -> None:
        self.database.close()

    def check(self, patience_s: float = 10.0) -> None:
        """Raise InputError when the ledger cannot be written, or another endpoint processes its jobs.

        Args:
            patience_s: how long that endpoint may take to end.
        """
        until = time.monotonic() + patience_s
        try:
            with self.database.transaction():
                pass
            while not self.database.claim():
                if time.monotonic() > until:
                    raise InputError("another endpoint processes the jobs of this ledger; end it, or give another one")
                time.sleep(0.2)
        except DATABASE_ERRORS as error:
            raise InputError(f"the job ledger cannot be written: {error}; give another one") from error

    def find(self, submission: Submission) -> str | None:
        """The job that the owner has submitted with the same key; None if there is none.

        Raises:
            DifferentSubmissionError: when that submission had another fingerprint.
        """
        return _same(self.database.rows(_SAME, submission.owner, submission.idempotency_key), submission)

    def add(self, submission: Submission, files: Sequence[JobFile]) -> tuple[str, bool]:
        """Accept a job: all of its files, or none. Returns its id, and whether it is new.

        Raises:
            DifferentSubmissionError: see `find`.
        """
        owner, key = submission.owner, submission.idempotency_key
        with self.database.transaction() as database:
            if found := _same(database.execute(_SAME, (owner, key)).fetchall(), submission):
                return found, False
            job = secrets.token_hex(16)
            columns = "id, owner, idempotency_key, fingerprint, options, created"
            values = (job, owner, key, submission.fingerprint, json.dumps(submission.options), self.clock.now())
            database.execute(f"INSERT INTO jobs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
            if submission.webhook:
                adding = "INSERT INTO webhooks (job, url, host) VALUES (?, ?, ?)"
                database.execute(adding, (job, *submission.webhook))
            named = ((job, position, file.name, file.doc_id) for position, file in enumerate(files))
            database.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", named)
            different = {file.doc_id: file for file in files}
            database.executemany(_ADD_DOCUMENT, (_document(job, file) for file in different.values()))
        return job, True

    def status(self, job: str) -> tuple[str, JobStatus] | None:
        """The owner and status of a job; None if there is no such job."""
        rows = self.database.rows("SELECT * FROM jobs WHERE id = ?", job)
        if not rows:
            return None
        (about,) = rows
        (files,) = self.database.rows("SELECT count(*) AS files FROM files WHERE job = ?", job)
        counts: dict[DocumentState, int] = {"waiting": 0, "answered": 0, "failed": 0, "cancelled": 0}
        (known,) = self.database.rows(_KNOWN_PAGES, job, job)
        done, left, unopened = known["pages"], 0, 0
        for row in self.database.rows(_COUNTS, job):
            counts[row["state"]] = row["documents"]
            if row["state"] == "waiting":
                left, unopened = row["pages"] - known["pages"], row["unopened"]
            elif row["state"] != "cancelled":
                done += row["pages"]
        state: JobState = "running" if about["ended"] is None else "cancelled" if about["cancelled"] else "done"
        model = json.loads(about["options"]).get("model")
        times = about["created"], about["ended"]
        return about["owner"], JobStatus(job, state, files["files"], counts, done, left, unopened, *times, model)

    def num_waiting(self) -> int:
        """Documents of all jobs that wait."""
        return self.database.rows("SELECT count(*) AS waiting FROM documents WHERE state = 'waiting'")[0]["waiting"]

    def next(self, started: Collection[int]) -> WaitingDocument | None:
        """The next document to open, or if all are open to answer, except those with the numbers `started`."""
        for unopened in (True, False):
            for number in self._in_order(unopened):
                if number not in started:
                    return self._waiting(number)
        return None

    def _in_order(self, unopened: bool) -> Generator[int]:
        """Numbers of the documents that wait. One with the content of an earlier one waits for it, then has its pages.

        Contents are compared here, because a database without recent statistics may compare all with all.
        """
        contents: set[tuple[str, str]] = set()
        number = 0
        while rows := self.database.rows(_IN_ORDER, unopened, number, _ROWS_AT_ONCE):
            for row in rows:
                number, content = row["number"], (row["job"], row["content"])
                if row["content"] is None or content not in contents:
                    yield number
                contents.add(content)

    def _waiting(self, number: int) -> WaitingDocument | None:
        rows = self.database.rows(_WAITING, number)
        if not rows:
            return None
        row = rows[0]
        return WaitingDocument(
            number,
            row["job"],
            row["owner"],
            row["content"] or "",
            row["address"] or "",
            row["name"],
            row["data"] or b"",
            row["pages"],
            row["starts"],
            json.loads(row["options"]),
        )

    def start(self, document: WaitingDocument) -> None:
        """Count that the processing of a document begins; `finish` or `opened` forgets it."""
        with self.database.transaction() as database:
            database.execute("UPDATE documents SET starts = starts + 1 WHERE number = ?", (document.number,))

    def opened(self, document: WaitingDocument, pages: int, content: str) -> None:
        """Store the number of pages of a document, and the SHA-256 of its content."""
        with self.database.transaction() as database:
            opening = "UPDATE documents SET pages = ?, content = ?, starts = 0 WHERE number = ? AND state = 'waiting'"
            database.execute(opening, (pages, content, document.number))

    def finish(
        self, document: WaitingDocument, state: Literal["answered", "failed"], result: Mapping[str, Any]
    ) -> bool:
        """Store the result of a document and forget its content.

        Returns False, and stores nothing, when the document no longer waits: it was answered, cancelled or deleted.
        """
        with self.database.transaction() as database:
            values = (state, json.dumps(result), document.job, document.number)
            stored = database.execute(_FINISH, values).rowcount == 1
            database.execute(_FORGET_PAGES, 2 * (document.job, document.content))
            self._end(database, document.job)
        return stored

    def cancel(self, job: str) -> None:
        """Forget the documents of a job that wait. A job that has ended stays as it is."""
        with self.database.transaction() as database:
            waiting = "UPDATE documents SET state = 'cancelled', data = NULL WHERE job = ? AND state = 'waiting'"
            if database.execute(waiting, (job,)).rowcount:
                database.execute("UPDATE jobs SET cancelled = 1 WHERE id = ?", (job,))
            database.execute("UPDATE pages SET outcome = NULL WHERE job = ? AND outcome IS NOT NULL", (job,))
            self._end(database, job)

    def _end(self, database: Transaction, job: str) -> None:
        """End a job without a document that waits. Its webhook is due from then on."""
        if database.execute(_END, (self.clock.now(), job)).rowcount:
            database.execute("UPDATE webhooks SET due = ? WHERE job = ?", (self.clock.now(), job))

    def delete(self, job: str) -> bool:
        """Forget a job, its documents and its results. Returns False when there is no such job."""
        with self.database.transaction() as database:
            deleted = database.execute("DELETE FROM jobs WHERE id = ?", (job,)).rowcount == 1
        self.database.sync()
        return deleted

    def delete_ended(self, seconds: float) -> int:
        """Delete the jobs that ended more than `seconds` ago. Returns their number."""
        with self.database.transaction() as database:
            deleted = database.execute("DELETE FROM jobs WHERE ended < ?", (self.clock.now() - seconds,)).rowcount
        if deleted:
            self.database.sync()
        return deleted

    def results(self, job: str, after: int, limit: int) -> Generator[Mapping[str, Any]]:
        """The results of ended documents, in the order in which they ended, once for each file; read one at a time.

        Args:
            after: `number` of the last document that is not wanted; 0 for all.
            limit: most documents.
        """
        for number in range(after + 1, after + 1 + limit):
            rows = self.database.rows(_RESULT, job, number)
            if not rows:
                return
            for row in rows:
                about = {"number": number, "position": row["position"], "file": row["name"], "doc_id": row["content"]}
                yield about | {"state": row["state"]} | json.loads(row["result"])


def _same(rows: Sequence[Row], submission: Submission) -> str | None:
    """The job in `rows`, which have the key of the submission. Raises DifferentSubmissionError: see `Ledger.find`."""
    if rows and rows[0]["fingerprint"] != submission.fingerprint:
        raise DifferentSubmissionError
    return rows[0]["id"] if rows else None


def _document(job: str, file: JobFile) -> tuple[str, str, str | None, str | None, bytes | None]:
    """The values of `_ADD_DOCUMENT` for a file, which is read now."""
    return (
        (job, file.doc_id, None, file.doc_id, file.read()) if file.read else (job, file.doc_id, file.doc_id, None, None)
    )


_LATEST = """
    SELECT coalesce(max(time), 0) AS latest FROM (
        SELECT max(created) AS time FROM jobs UNION ALL SELECT max(ended) FROM jobs
        UNION ALL SELECT max(sent) FROM deliveries
    ) AS times
"""
_ADD_DOCUMENT = "INSERT INTO documents (job, doc_id, address, content, data) VALUES (?, ?, ?, ?, ?)"
_SAME = "SELECT id, fingerprint FROM jobs WHERE owner = ? AND idempotency_key = ?"
_COUNTS = """
    SELECT state, count(*) AS documents, coalesce(sum(pages), 0) AS pages, count(*) - count(pages) AS unopened
    FROM documents WHERE job = ? GROUP BY state
"""
# Few pages have an outcome: those of documents in progress.
_KNOWN_PAGES = """
    SELECT CAST(coalesce(sum(known.pages * (
        SELECT count(*) FROM documents
        WHERE documents.job = ? AND documents.content = known.content AND state = 'waiting'
            AND documents.pages IS NOT NULL
    )), 0) AS INTEGER) AS pages
    FROM (SELECT content, count(*) AS pages FROM pages WHERE job = ? AND outcome IS NOT NULL GROUP BY content) AS known
"""
_IN_ORDER = """
    SELECT number, job, content FROM documents
    WHERE state = 'waiting' AND (pages IS NULL) = ? AND number > ? ORDER BY number LIMIT ?
"""
_WAITING = """
    SELECT documents.*, jobs.owner, jobs.options,
        (SELECT name FROM files WHERE files.job = documents.job AND files.doc_id = documents.doc_id
         ORDER BY position LIMIT 1) AS name
    FROM documents JOIN jobs ON jobs.id = documents.job WHERE number = ? AND state = 'waiting'
"""
_FINISH = """
    UPDATE documents SET state = ?, result = ?, data = NULL,
        ended = (SELECT coalesce(max(ended), 0) + 1 FROM documents WHERE job = ?)
    WHERE number = ? AND state = 'waiting'
"""
_FORGET_PAGES = """
    UPDATE pages SET outcome = NULL WHERE job = ? AND content = ? AND outcome IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM documents WHERE job = ? AND content = ? AND state = 'waiting')
"""
_END = """
    UPDATE jobs SET ended = ? WHERE id = ? AND ended IS NULL
    AND NOT EXISTS (SELECT 1 FROM documents WHERE job = jobs.id AND state = 'waiting')
"""
_RESULT = """
    SELECT position, name, content, state, result FROM documents
    JOIN files ON files.job = documents.job AND files.doc_id = documents.doc_id
    WHERE documents.job = ? AND documents.ended = ? ORDER BY position
"""
