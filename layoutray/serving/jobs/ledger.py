"""The ledger of jobs: everything that was accepted, what is answered, and nothing of what was deleted.

It is one SQLite file, or a database of a PostgreSQL server, with the documents that wait in it. What the ledger says is
true; everything in memory is a hint. After the death of any process, the documents that the ledger has as waiting are
processed again. Transactions follow each other, so that one may first read what it depends on.

The unit is the document: its fields come from all its pages. Its key is the job and the SHA-256 of its content, so that
two files of a job with the same content are answered once. The options belong to the job. An object of a bucket is read
when it is opened; until then its key is its address.

`page_ledger` keeps the pages of documents that are not answered yet, `webhooks` what webhooks are told.
"""

import json
import secrets
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update
from yarl import URL

from layoutray.errors import InputError, MissingDependencyError
from layoutray.serving.jobs.records import DifferentSubmissionError, Job, NoRoomError, Submission, WaitingDocument
from layoutray.serving.jobs.schema import DocumentCounts, JobResponse, PageCounts
from layoutray.serving.jobs.tables import (
    DELIVERIES,
    DOCUMENT_FILES,
    DOCUMENTS,
    FILES,
    JOBS,
    LEDGER_FILE,
    PAGES,
    WEBHOOKS,
)
from layoutray.store.database import Database, DatabaseError, open_database

_ROWS_AT_ONCE = 100
_WAITS = DOCUMENTS.c.state == "waiting"


class Ledger:
    """The jobs in one database. `system` gives the system's time, in seconds since 1970, when it is opened."""

    def __init__(self, database: Database, system: Callable[[], float] = time.time) -> None:
        self.database = database
        sent = select(func.max(DELIVERIES.c.sent)).scalar_subquery()
        with database.connection() as connection:
            times = connection.execute(select(func.max(JOBS.c.created), func.max(JOBS.c.ended), sent)).one()
        self._start = max(system(), *(time or 0.0 for time in times))
        self._started = time.monotonic()

    @classmethod
    def open(cls, address: str, system: Callable[[], float] = time.time) -> "Ledger":
        """The ledger in a file, or at an address `postgresql://…`, which is created if there is none.

        Raises:
            InputError: see `open_database` and `open_server`; or when the address is of another kind.
            MissingDependencyError: when the driver of PostgreSQL is not installed.
        """
        scheme, separator, _ = address.partition("://")
        if not separator:
            try:
                return cls(open_database(Path(address), LEDGER_FILE, create=True), system)
            except DatabaseError as error:
                raise InputError(f"{address} cannot be read as a job ledger: {error}") from error
        if scheme != "postgresql":
            raise InputError(
                f"a job ledger cannot be at an address {scheme}://; give a file, or a database of PostgreSQL as "
                "postgresql://USER@HOST/DATABASE"
            )
        try:
            from layoutray.serving.jobs.postgresql import open_server
        except ImportError as error:
            raise MissingDependencyError(
                f"the driver of PostgreSQL cannot be imported ({error}); run `pip install 'layoutray[postgresql]'`"
            ) from error
        return cls(open_server(address), system)

    def close(self) -> None:
        self.database.close()

    def now(self) -> float:
        """Seconds since 1970 by a clock that nobody can set, and never before a time that is stored."""
        return self._start + time.monotonic() - self._started

    def check(self, patience_s: float = 10.0) -> None:
        """Raise InputError if the ledger cannot be written, or another endpoint has its jobs after `patience_s`."""
        until = time.monotonic() + patience_s
        try:
            with self.database.transaction():
                pass
            while not self.database.claim():
                if time.monotonic() > until:
                    raise InputError("another endpoint processes the jobs of this ledger; end it, or give another one")
                time.sleep(0.2)
        except DatabaseError as error:
            raise InputError(f"the job ledger cannot be written: {error}; give another one") from error

    def find(self, submission: Submission) -> str | None:
        """The job of the owner with this key, or None. Raises DifferentSubmissionError for another fingerprint."""
        with self.database.connection() as connection:
            return _submitted(connection, submission)

    def add(self, submission: Submission, most: int) -> tuple[str, bool]:
        """Accept a job: all of its files, or none. Returns its id, and whether it is new.

        Args:
            most: documents of all jobs of the owner that may wait.

        Raises:
            DifferentSubmissionError: see `find`.
            NoRoomError: when more would wait.
        """
        with self.database.transaction() as connection:
            if found := _submitted(connection, submission):
                return found, False
            own = _count(_WAITS, JOBS.c.owner == submission.owner).join(JOBS)
            waiting = connection.scalar(own) or 0
            if waiting + len(submission.files) > most:
                raise NoRoomError(waiting)
            job = secrets.token_hex(16)
            values = {
                "id": job,
                "owner": submission.owner,
                "idempotency_key": submission.idempotency_key,
                "fingerprint": submission.fingerprint(),
                "options": json.dumps(submission.options),
                "created": self.now(),
            }
            connection.execute(insert(JOBS).values(values))
            if submission.webhook is not None:
                host = URL(submission.webhook).host
                connection.execute(insert(WEBHOOKS).values(job=job, url=submission.webhook, host=host))
            _add_files(connection, job, submission)
        return job, True

    def status(self, job: str) -> Job | None:
        of_job = DOCUMENTS.c.job == job
        opened = (of_job, _WAITS, DOCUMENTS.c.pages.is_not(None))
        by_state = select(DOCUMENTS.c.state, func.count(), func.sum(DOCUMENTS.c.pages)).group_by(DOCUMENTS.c.state)
        documents, pages = dict.fromkeys(DocumentCounts.model_fields, 0), dict.fromkeys(DocumentCounts.model_fields, 0)
        same_pages = (PAGES.c.job == DOCUMENTS.c.job) & (PAGES.c.content == DOCUMENTS.c.content)
        with self.database.connection() as connection:
            about = connection.execute(select(JOBS).where(JOBS.c.id == job)).one_or_none()
            if about is None:
                return None
            files = connection.scalar(select(func.count()).select_from(FILES).where(FILES.c.job == job))
            for state, number, of_state in connection.execute(by_state.where(of_job)):
                documents[state], pages[state] = number, of_state or 0
            # Few pages have an outcome: those of documents in progress.
            known = connection.scalar(_count(*opened, PAGES.c.outcome.is_not(None)).join(PAGES, same_pages)) or 0
            unopened = documents["waiting"] - (connection.scalar(_count(*opened)) or 0)
        shown = JobResponse(
            id=job,
            state="running" if about.ended is None else "cancelled" if about.cancelled else "done",
            model=json.loads(about.options).get("model"),
            files=files or 0,
            documents=DocumentCounts(**documents),
            pages=PageCounts(done=known + pages["answered"] + pages["failed"], left=pages["waiting"] - known),
            unopened=unopened,
            created=about.created,
            ended=about.ended,
        )
        return Job(about.owner, shown)

    def owners(self) -> Sequence[str]:
        """The owners of jobs that have not ended, the one with the oldest job first."""
        oldest = select(JOBS.c.owner).where(JOBS.c.ended.is_(None)).group_by(JOBS.c.owner)
        return [row["owner"] for row in self.database.rows(oldest.order_by(func.min(JOBS.c.created)))]

    def next(self, started: Collection[int], owner: str) -> WaitingDocument | None:
        """The owner's next document to open, or if all are open to answer, except those with the numbers `started`."""
        for unopened in (True, False):
            for number in self._in_order(unopened, owner):
                if number not in started:
                    return self._waiting(number)
        return None

    def _in_order(self, unopened: bool, owner: str) -> Generator[int]:
        """Numbers of the documents that wait. One with the content of an earlier one waits for it, then has its pages.

        Contents are compared here, because a database without recent statistics may compare all with all.
        """
        contents: set[tuple[str, str]] = set()
        number = 0
        in_order = select(DOCUMENTS.c.number, DOCUMENTS.c.job, DOCUMENTS.c.content).order_by(DOCUMENTS.c.number)
        in_order = in_order.join_from(DOCUMENTS, JOBS).where(JOBS.c.owner == owner)
        in_order = in_order.where(_WAITS, DOCUMENTS.c.pages.is_(None) == unopened).limit(_ROWS_AT_ONCE)
        while rows := self.database.rows(in_order.where(DOCUMENTS.c.number > number)):
            for row in rows:
                number, content = row["number"], (row["job"], row["content"])
                if row["content"] is None or content not in contents:
                    yield number
                contents.add(content)

    def _waiting(self, number: int) -> WaitingDocument | None:
        found = select(DOCUMENTS, JOBS.c.owner, JOBS.c.options, FILES.c.name)
        found = found.join_from(DOCUMENTS, JOBS).join(FILES, DOCUMENT_FILES)
        rows = self.database.rows(found.where(DOCUMENTS.c.number == number, _WAITS).order_by(FILES.c.position).limit(1))
        if not rows:
            return None
        row = rows[0]
        return WaitingDocument(
            number=number,
            job=row["job"],
            owner=row["owner"],
            content=row["content"] or "",
            address=row["address"] or "",
            name=row["name"],
            data=row["data"] or b"",
            pages=row["pages"],
            starts=row["starts"],
            options=json.loads(row["options"]),
        )

    def start(self, document: WaitingDocument) -> None:
        """Count that the processing of a document begins; `finish` or `opened` forgets it."""
        self._update(document, starts=DOCUMENTS.c.starts + 1)

    def opened(self, document: WaitingDocument, pages: int, content: str) -> None:
        self._update(document, pages=pages, content=content, starts=0)

    def closed(self, document: WaitingDocument) -> None:
        """Take back `opened`: the document is to be opened again."""
        self._update(document, pages=None, content=document.content or None, starts=document.starts + 1)

    def _update(self, document: WaitingDocument, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(update(DOCUMENTS).where(DOCUMENTS.c.number == document.number, _WAITS).values(values))

    def finish(
        self, document: WaitingDocument, state: Literal["answered", "failed"], result: Mapping[str, Any]
    ) -> bool:
        """Store a result and forget the content. Returns False, and stores nothing, if the document no longer waits."""
        of_job = DOCUMENTS.c.job == document.job
        with self.database.transaction() as connection:
            last = connection.scalar(select(func.max(DOCUMENTS.c.ended)).where(of_job)) or 0
            ending = update(DOCUMENTS).where(DOCUMENTS.c.number == document.number, _WAITS)
            ending = ending.values(state=state, result=json.dumps(result), data=None, ended=last + 1)
            stored = connection.execute(ending).rowcount == 1
            if not connection.scalar(_count(of_job, DOCUMENTS.c.content == document.content, _WAITS)):
                _forget_words(connection, document.job, PAGES.c.content == document.content)
            self._end(connection, document.job)
        self.database.sync()  # what was forgotten is in the log of the database until then
        return stored

    def cancel(self, job: str) -> None:
        """Forget the documents of a job that wait. A job that has ended stays as it is."""
        with self.database.transaction() as connection:
            waiting = update(DOCUMENTS).where(DOCUMENTS.c.job == job, _WAITS).values(state="cancelled", data=None)
            if connection.execute(waiting).rowcount:
                connection.execute(update(JOBS).where(JOBS.c.id == job).values(cancelled=1))
            _forget_words(connection, job)
            self._end(connection, job)
        self.database.sync()

    def _end(self, connection: Connection, job: str) -> None:
        """End a job without a document that waits. Its webhook is due from then on."""
        if connection.scalar(_count(DOCUMENTS.c.job == job, _WAITS)):
            return
        ending = update(JOBS).where(JOBS.c.id == job, JOBS.c.ended.is_(None)).values(ended=self.now())
        if connection.execute(ending).rowcount:
            connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.job == job).values(due=self.now()))

    def delete(self, job: str) -> bool:
        """Forget a job, its documents and its results. Returns False when there is no such job."""
        return self._delete(JOBS.c.id == job) == 1

    def delete_ended(self, seconds: float) -> int:
        """Delete the jobs that ended more than `seconds` ago. Returns their number."""
        return self._delete(JOBS.c.ended < self.now() - seconds)

    def _delete(self, which: ColumnElement[bool]) -> int:
        with self.database.transaction() as connection:
            deleted = connection.execute(delete(JOBS).where(which)).rowcount
        if deleted:
            self.database.sync()
        return deleted

    def results(self, job: str, after: int, limit: int) -> Generator[Mapping[str, Any]]:
        """The results of documents after number `after`, as they ended, once for each file; read one at a time."""
        found = select(FILES.c.position, FILES.c.name, DOCUMENTS.c.content, DOCUMENTS.c.state, DOCUMENTS.c.result)
        found = found.join_from(DOCUMENTS, FILES, DOCUMENT_FILES).order_by(FILES.c.position)
        for number in range(after + 1, after + 1 + limit):
            rows = self.database.rows(found.where(DOCUMENTS.c.job == job, DOCUMENTS.c.ended == number))
            if not rows:
                return
            for row in rows:
                about = {"number": number, "position": row["position"], "file": row["name"], "doc_id": row["content"]}
                yield about | {"state": row["state"]} | json.loads(row["result"])


def _submitted(connection: Connection, submission: Submission) -> str | None:
    if submission.idempotency_key is None:
        return None
    same = (JOBS.c.owner == submission.owner) & (JOBS.c.idempotency_key == submission.idempotency_key)
    found = connection.execute(select(JOBS.c.id, JOBS.c.fingerprint).where(same)).one_or_none()
    if found and found.fingerprint != submission.fingerprint():
        raise DifferentSubmissionError
    return found.id if found else None


def _add_files(connection: Connection, job: str, submission: Submission) -> None:
    """Store the files of a job. Objects of a bucket have no content yet; uploads are read one at a time."""
    named = enumerate(submission.files)
    rows = [{"job": job, "position": at, "name": file.name, "doc_id": file.doc_id} for at, file in named]
    connection.execute(insert(FILES), rows)
    different = {file.doc_id: file for file in submission.files}
    objects = [{"job": job, "doc_id": key, "address": key} for key, file in different.items() if file.read is None]
    if objects:
        connection.execute(insert(DOCUMENTS), objects)
    for key, file in different.items():
        if file.read:
            connection.execute(insert(DOCUMENTS).values(job=job, doc_id=key, content=key, data=file.read()))


def _count(*which: ColumnElement[bool]) -> Select[int]:
    return select(func.count()).select_from(DOCUMENTS).where(*which)


def _forget_words(connection: Connection, job: str, *which: ColumnElement[bool]) -> None:
    """Forget the words of pages of a job; what is shown of them stays."""
    known = (PAGES.c.job == job, PAGES.c.outcome.is_not(None), *which)
    connection.execute(update(PAGES).where(*known).values(outcome=None))
