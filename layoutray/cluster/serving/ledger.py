"""The ledger of jobs: everything that was accepted, what is answered, and nothing of what was deleted.

It is one SQLite file, with the documents that wait in it. What the ledger says is true; everything in memory is a hint.
After the death of any process, the documents that the ledger has as waiting are processed again.

The unit is the document: its fields come from all its pages. Its key is the job and the SHA-256 of its content, so that
two files of a job with the same content are answered once. The options belong to the job.
"""

import json
import secrets
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from layoutray.store.database import Database, FileKind, open_database

JobState = Literal["running", "done", "cancelled"]
DocumentState = Literal["waiting", "answered", "failed", "cancelled"]

_LEDGER = FileKind(
    "job ledger",
    application_id=0x6C726A62,  # "lrjb"
    version=1,
    # An accepted job survives a loss of power. What is deleted is overwritten, and its space is given back.
    settings=("auto_vacuum = FULL", "synchronous = FULL", "secure_delete = ON"),
    # The long columns are last, so that SQLite reads the others without them.
    tables="""
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
        CREATE INDEX contents ON files (job, doc_id, position)
    """,
)


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file of a new job. `read` gives its content; it is called when the file is stored, and only then."""

    name: str
    doc_id: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class WaitingDocument:
    """A document that waits to be opened (`pages` is None) or answered.

    Attributes:
        number: of the document in the ledger.
        starts: how many times its processing has begun and not ended.
        options: of its job.
    """

    number: int
    job: str
    owner: str
    doc_id: str
    name: str
    data: bytes
    pages: int | None
    starts: int
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is done of a job.

    Attributes:
        documents: number of different documents in each state.
        pages_done: pages of documents that are answered or failed.
        pages_left: pages of opened documents that wait.
        unopened: waiting documents whose number of pages is not known yet.
    """

    id: str
    state: JobState
    files: int
    documents: Mapping[DocumentState, int]
    pages_done: int
    pages_left: int
    unopened: int
    created: float
    ended: float | None


class DifferentSubmissionError(Exception):
    """The owner has used this idempotency key for other files or options."""


class Ledger:
    """The jobs in one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, file: str) -> "Ledger":
        """The ledger in `file`, which is created if it does not exist. Raises InputError: see `open_database`."""
        return cls(open_database(Path(file), _LEDGER, create=True))

    def close(self) -> None:
        self._database.close()

    def add(
        self,
        owner: str,
        files: Sequence[JobFile],
        options: Mapping[str, Any],
        fingerprint: str,
        idempotency_key: str | None,
    ) -> tuple[str, bool]:
        """Accept a job: all of its files, or none. Returns its id, and whether it is new.

        Args:
            fingerprint: equal for equal files and options.
            idempotency_key: a second submission of the owner with the same key gives the first one's job.

        Raises:
            DifferentSubmissionError: when the first submission with this key had another fingerprint.
        """
        with self._database.transaction() as database:
            same = "SELECT id, fingerprint FROM jobs WHERE owner = ? AND idempotency_key = ?"
            if found := database.execute(same, (owner, idempotency_key)).fetchone():
                if found["fingerprint"] != fingerprint:
                    raise DifferentSubmissionError
                return found["id"], False
            job = secrets.token_hex(16)
            columns = "id, owner, idempotency_key, fingerprint, options, created"
            values = (job, owner, idempotency_key, fingerprint, json.dumps(options), time.time())
            database.execute(f"INSERT INTO jobs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
            for position, file in enumerate(files):
                database.execute("INSERT INTO files VALUES (?, ?, ?, ?)", (job, position, file.name, file.doc_id))
                if not database.execute(_KNOWN, (job, file.doc_id)).fetchone():
                    adding = "INSERT INTO documents (job, doc_id, data) VALUES (?, ?, ?)"
                    database.execute(adding, (job, file.doc_id, file.read()))
        return job, True

    def status(self, job: str) -> tuple[str, JobStatus] | None:
        """The owner and status of a job; None if there is no such job."""
        rows = self._database.rows("SELECT * FROM jobs WHERE id = ?", job)
        if not rows:
            return None
        (files,) = self._database.rows("SELECT count(*) AS files FROM files WHERE job = ?", job)
        counts: dict[DocumentState, int] = {"waiting": 0, "answered": 0, "failed": 0, "cancelled": 0}
        done = left = unopened = 0
        for row in self._database.rows(_COUNTS, job):
            counts[row["state"]] = row["documents"]
            if row["state"] == "waiting":
                left, unopened = row["pages"], row["unopened"]
            elif row["state"] != "cancelled":
                done += row["pages"]
        state: JobState = "running" if rows[0]["ended"] is None else "cancelled" if rows[0]["cancelled"] else "done"
        status = JobStatus(
            job, state, files["files"], counts, done, left, unopened, rows[0]["created"], rows[0]["ended"]
        )
        return rows[0]["owner"], status

    def num_waiting(self) -> int:
        """Documents of all jobs that wait."""
        return self._database.rows("SELECT count(*) AS waiting FROM documents WHERE state = 'waiting'")[0]["waiting"]

    def next(self, started: Collection[int]) -> WaitingDocument | None:
        """The next document to open, or if all are open to answer, except those with the numbers `started`."""
        for unopened in (True, False):
            for row in self._database.rows(_NEXT, unopened, len(started) + 1):
                if row["number"] not in started:
                    return self._waiting(row["number"])
        return None

    def _waiting(self, number: int) -> WaitingDocument | None:
        rows = self._database.rows(_WAITING, number)
        if not rows:
            return None
        row = rows[0]
        return WaitingDocument(
            number,
            row["job"],
            row["owner"],
            row["doc_id"],
            row["name"],
            row["data"],
            row["pages"],
            row["starts"],
            json.loads(row["options"]),
        )

    def start(self, document: WaitingDocument) -> None:
        """Count that the processing of a document begins; `finish` or `opened` forgets it."""
        with self._database.transaction() as database:
            database.execute("UPDATE documents SET starts = starts + 1 WHERE number = ?", (document.number,))

    def opened(self, document: WaitingDocument, pages: int) -> None:
        """Store the number of pages of a document."""
        with self._database.transaction() as database:
            opening = "UPDATE documents SET pages = ?, starts = 0 WHERE number = ? AND state = 'waiting'"
            database.execute(opening, (pages, document.number))

    def finish(
        self, document: WaitingDocument, state: Literal["answered", "failed"], result: Mapping[str, Any]
    ) -> bool:
        """Store the result of a document and forget its content.

        Returns False, and stores nothing, when the document no longer waits: it was answered, cancelled or deleted.
        """
        with self._database.transaction() as database:
            values = (state, json.dumps(result), document.job, document.number)
            stored = database.execute(_FINISH, values).rowcount == 1
            database.execute(_END, (time.time(), document.job))
        return stored

    def cancel(self, job: str) -> None:
        """Forget the documents of a job that wait. A job that has ended stays as it is."""
        with self._database.transaction() as database:
            waiting = "UPDATE documents SET state = 'cancelled', data = NULL WHERE job = ? AND state = 'waiting'"
            if database.execute(waiting, (job,)).rowcount:
                database.execute("UPDATE jobs SET cancelled = 1 WHERE id = ?", (job,))
            database.execute(_END, (time.time(), job))

    def delete(self, job: str) -> bool:
        """Forget a job, its documents and its results. Returns False when there is no such job."""
        with self._database.transaction() as database:
            deleted = database.execute("DELETE FROM jobs WHERE id = ?", (job,)).rowcount == 1
        self._database.sync()
        return deleted

    def delete_ended_before(self, moment: float) -> int:
        """Delete the jobs that ended before `moment`. Returns their number."""
        with self._database.transaction() as database:
            deleted = database.execute("DELETE FROM jobs WHERE ended < ?", (moment,)).rowcount
        if deleted:
            self._database.sync()
        return deleted

    def results(self, job: str, after: int, limit: int) -> Generator[Mapping[str, Any]]:
        """The results of ended documents, in the order in which they ended, once for each file; read one at a time.

        Args:
            after: `number` of the last document that is not wanted; 0 for all.
            limit: most documents.
        """
        for number in range(after + 1, after + 1 + limit):
            rows = self._database.rows(_RESULT, job, number)
            if not rows:
                return
            for row in rows:
                about = {"number": number, "position": row["position"], "file": row["name"], "doc_id": row["doc_id"]}
                yield about | {"state": row["state"]} | json.loads(row["result"])


_KNOWN = "SELECT 1 FROM documents WHERE job = ? AND doc_id = ?"
_COUNTS = """
    SELECT state, count(*) AS documents, coalesce(sum(pages), 0) AS pages, sum(pages IS NULL) AS unopened
    FROM documents WHERE job = ? GROUP BY state
"""
_NEXT = "SELECT number FROM documents WHERE state = 'waiting' AND (pages IS NULL) = ? ORDER BY number LIMIT ?"
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
_END = """
    UPDATE jobs SET ended = ? WHERE id = ? AND ended IS NULL
    AND NOT EXISTS (SELECT 1 FROM documents WHERE job = jobs.id AND state = 'waiting')
"""
_RESULT = """
    SELECT position, name, files.doc_id, state, result FROM documents
    JOIN files ON files.job = documents.job AND files.doc_id = documents.doc_id
    WHERE documents.job = ? AND documents.ended = ? ORDER BY position
"""
