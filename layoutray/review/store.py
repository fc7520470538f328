"""Documents under review and their corrections, in one SQLite file.

Every document has a revision that grows with each save. A save names the revision that it was made from, and is refused
if there is a newer one: nothing that a person has entered is overwritten unseen. Each changed value is one row of
`corrections`, with the value before and after it, for ever.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping

from layoutray.document import Page
from layoutray.review.documents import AnsweredDocument, page_from_json, page_to_json
from layoutray.review.values import PREDICTION, VALUE, Prediction, Value, changes, doubt, first_values
from layoutray.store.database import Database, FileKind, executed, open_database

DocumentState = Literal["open", "accepted", "done"]
"""`accepted`: no value needs a look, and nobody has finished the document. `done`: a person has finished it."""

_REVIEWS = FileKind(
    name="review file",
    application_id=0x6C727276,  # "lrrv"
    version=2,
    settings=("synchronous = NORMAL",),
    create=executed("""
        CREATE TABLE documents (
            number INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            doc_id TEXT NOT NULL,
            source TEXT NOT NULL,
            model_id TEXT NOT NULL,
            model_version TEXT NOT NULL,
            content BLOB NOT NULL,
            rank INTEGER,
            added REAL NOT NULL,
            revision INTEGER NOT NULL DEFAULT 0,
            state TEXT NOT NULL,
            looks INTEGER NOT NULL,
            doubt REAL NOT NULL,
            UNIQUE (owner, doc_id, model_version)
        );
        CREATE TABLE pages (
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            page INTEGER NOT NULL,
            width INTEGER NOT NULL,
            height INTEGER NOT NULL,
            content TEXT NOT NULL,
            PRIMARY KEY (document, page)
        );
        CREATE TABLE said (
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            confidence REAL NOT NULL,
            sampled INTEGER NOT NULL,
            content TEXT NOT NULL,
            PRIMARY KEY (document, id)
        );
        CREATE TABLE current (
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            id TEXT NOT NULL,
            position INTEGER NOT NULL,
            content TEXT NOT NULL,
            PRIMARY KEY (document, id)
        );
        CREATE TABLE corrections (
            number INTEGER PRIMARY KEY,
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            revision INTEGER NOT NULL,
            time REAL NOT NULL,
            reviewer TEXT NOT NULL,
            model_version TEXT NOT NULL,
            action TEXT NOT NULL,
            name TEXT NOT NULL,
            before TEXT,
            after TEXT
        );
        CREATE INDEX corrections_of_document ON corrections (document);
        CREATE TABLE sessions (
            cookie TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            sees_all INTEGER NOT NULL,
            reviewer TEXT NOT NULL,
            token TEXT NOT NULL,
            ends REAL NOT NULL,
            key TEXT NOT NULL DEFAULT ''
        )
    """),
    migrations={1: executed("ALTER TABLE sessions ADD COLUMN key TEXT NOT NULL DEFAULT ''")},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document in a list.

    Attributes:
        number: names the document in this file.
        looks: its values that need a look.
        doubt: how many of these are expected to be wrong.
    """

    number: int
    owner: str
    doc_id: str
    source: str
    model_id: str
    model_version: str
    revision: int
    state: DocumentState
    looks: int
    doubt: float


@dataclass(frozen=True, slots=True)
class Review:
    """A document with its values, as they are now, and what the model has said, by the id of the value."""

    entry: Entry
    said: Mapping[str, Prediction]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person did. `before` and `after` are None where there is no value: `done` and `reopened` of a document."""

    revision: int
    time: float
    reviewer: str
    model_version: str
    action: str
    name: str
    before: Value | None
    after: Value | None


class ConflictError(Exception):
    """Somebody else has saved the document since the revision from which this save was made."""


class UnseenError(Exception):
    """A document cannot be finished while values need a look: finished documents are truth."""


class ReviewStore:
    """The documents in one file.

    Args:
        sample: share of the accepted values that are shown nevertheless, 0 to 1.
    """

    def __init__(self, database: Database, sample: float = 0.0) -> None:
        self.database = database
        self._sample = sample

    @classmethod
    def open(cls, file: str, *, sample: float = 0.0, create: bool = True) -> "ReviewStore":
        """The documents in `file`. Raises InputError: see `open_database`."""
        return cls(open_database(Path(file), _REVIEWS, create=create), sample)

    def close(self) -> None:
        self.database.close()

    def add(self, document: AnsweredDocument, owner: str = "") -> int:
        """Add a document and return its number. One that is there, answered by the same model, stays as it is."""
        values = first_values(document.said)
        said = {value.id: self._sampled(document, one) for value, one in zip(values, document.said, strict=True)}
        looks, doubtful = doubt(said, values)
        state = _state(said, values, looks)
        with self.database.transaction() as database:
            where = (owner, document.doc_id, document.model_version)
            if found := database.exec_driver_sql(_KNOWN, where).first():
                return found[0]
            made_by = (document.source, document.model_id, document.model_version, document.content, document.rank)
            row = (owner, document.doc_id, *made_by, time.time(), state, looks, doubtful)
            number = database.exec_driver_sql(_ADD, row).lastrowid
            pages = [(number, page.number, page.width, page.height, page_to_json(page)) for page in document.pages]
            _execute_each(database, "INSERT INTO pages VALUES (?, ?, ?, ?, ?)", pages)
            rows = [(number, key, one.name, one.confidence, one.sampled, _json(one)) for key, one in said.items()]
            _execute_each(database, "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", rows)
            _write_values(database, number, enumerate(values))
        return number

    def entry(self, number: int) -> Entry | None:
        """The document with this number, without its values; None if there is none."""
        rows = self.database.rows(f"SELECT {_ENTRY} FROM documents WHERE number = ?", number)
        return entry_of(rows[0]) if rows else None

    def review(self, number: int) -> Review | None:
        """The document with this number; None if there is none."""
        entry = self.entry(number)
        if entry is None:
            return None
        said = self.database.rows("SELECT id, content FROM said WHERE document = ? ORDER BY rowid", number)
        current = self.database.rows("SELECT content FROM current WHERE document = ? ORDER BY position", number)
        return Review(
            entry,
            {row["id"]: PREDICTION.validate_json(row["content"]) for row in said},
            tuple(VALUE.validate_json(row["content"]) for row in current),
        )

    def save(self, number: int, revision: int, values: Sequence[Value], *, done: bool, reviewer: str) -> int:
        """Store the values of a document and return its new revision; the old one if nothing has changed.

        Args:
            revision: that from which `values` were made.
            done: whether the document is finished.

        Raises:
            ConflictError: when the document has another revision.
            UnseenError: when the document is to be finished and values need a look.
        """
        now = self.review(number)
        if now is None or now.entry.revision != revision:
            raise ConflictError
        made = changes(now.values, values)
        was_done = now.entry.state == "done"
        if not made and was_done == done:
            return revision
        ids = [value.id for value in now.values]
        order = {value_id: position for position, value_id in enumerate(dict.fromkeys([*ids, *(v.id for v in values)]))}
        merged = {value.id: value for value in (*now.values, *values)}.values()
        looks, doubtful = doubt(now.said, merged)
        if done and looks:
            raise UnseenError(f"{looks} values still need a look")
        state = "done" if done else _state(now.said, merged, looks)
        with self.database.transaction() as database:
            updated = database.exec_driver_sql(_UPDATE, (state, looks, doubtful, number, revision))
            if not updated.rowcount:
                raise ConflictError
            _write_values(database, number, ((order[change.after.id], change.after) for change in made))
            shared = (number, revision + 1, time.time(), reviewer, now.entry.model_version)
            rows: list[tuple[Any, ...]] = [
                (*shared, one.action, one.after.name, one.before and _json(one.before), _json(one.after))
                for one in made
            ]
            if was_done != done:
                rows.append((*shared, "done" if done else "reopened", "", None, None))
            _execute_each(database, _LOG, rows)
        return revision + 1

    def pages(self, number: int) -> list[tuple[int, int, int]]:
        """Number, width and height of each page of a document, in order."""
        rows = self.database.rows("SELECT page, width, height FROM pages WHERE document = ? ORDER BY page", number)
        return [(row["page"], row["width"], row["height"]) for row in rows]

    def page(self, number: int, page: int) -> Page | None:
        """A page of a document with its words; None if there is none."""
        rows = self.database.rows("SELECT content FROM pages WHERE document = ? AND page = ?", number, page)
        return page_from_json(rows[0]["content"]) if rows else None

    def content(self, number: int) -> bytes:
        """The bytes of an uploaded document; empty for one whose pages have pictures of their own."""
        rows = self.database.rows("SELECT content FROM documents WHERE number = ?", number)
        return rows[0]["content"] if rows else b""

    def corrections(self, number: int) -> list[Correction]:
        """What people did with a document, the first first."""
        found: list[dict[str, Any]] = [dict(row) for row in self.database.rows(_CORRECTIONS, number)]
        for fields in found:
            fields |= {side: fields[side] and VALUE.validate_json(fields[side]) for side in ("before", "after")}
        return [Correction(**fields) for fields in found]

    def _sampled(self, document: AnsweredDocument, said: Prediction) -> Prediction:
        """The value, with whether it is drawn: by a hash, so that it is chosen without its content."""
        key = f"{document.doc_id} {document.model_version} {said.name} {said.row} {said.page} {said.words}"
        share = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64
        drawn = share < self._sample
        return replace(said, drawn=drawn, sampled=said.accepted and drawn)


_ENTRY = "number, owner, doc_id, source, model_id, model_version, revision, state, looks, doubt"
_KNOWN = "SELECT number FROM documents WHERE owner = ? AND doc_id = ? AND model_version = ?"
_ADD = """
    INSERT INTO documents (
        owner, doc_id, source, model_id, model_version, content, rank, added, state, looks, doubt
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE = """
    UPDATE documents SET revision = revision + 1, state = ?, looks = ?, doubt = ? WHERE number = ? AND revision = ?
"""
_LOG = """
    INSERT INTO corrections (document, revision, time, reviewer, model_version, action, name, before, after)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_CORRECTIONS = """
    SELECT revision, time, reviewer, model_version, action, name, before, after FROM corrections
    WHERE document = ? ORDER BY number
"""


def entry_of(row: RowMapping) -> Entry:
    """The entry of a row of `documents`."""
    return Entry(**{name: row[name] for name in _ENTRY.split(", ")})


def _state(said: Mapping[str, Prediction], values: Iterable[Value], looks: int) -> DocumentState:
    """The state of an unfinished document. One without values is looked at: the model may have missed all of them."""
    known = any(value.state != "open" or not (value.id in said and said[value.id].guess) for value in values)
    return "open" if looks or not known else "accepted"


def _write_values(database: Connection, number: int, values: Iterable[tuple[int, Value]]) -> None:
    rows = [(number, one.id, position, _json(one)) for position, one in values]
    _execute_each(database, "INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?)", rows)


def _json(one: Value | Prediction) -> str:
    return json.dumps(asdict(one), ensure_ascii=False)


def _execute_each(database: Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    """Execute a statement with the values of each row, if there is one."""
    if rows:
        database.exec_driver_sql(statement, rows)
