"""A SQLite file that several processes share: keys of the endpoint, its jobs, or documents under review.

The file is in WAL mode, so that reading never waits for writing. It must be on a local disk: SQLite's locks do not work
on most network file systems.
"""

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from layoutray.errors import InputError

_WAIT_SECONDS = 5.0
"""How long a transaction waits for that of another process."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a SQLite file holds.

    Attributes:
        name: for messages, e.g. `key file`.
        application_id: the number in the file's header that marks this kind.
        version: of the tables. A file of a later version is refused.
        settings: SQLite's, besides WAL. `synchronous = FULL`: a committed transaction survives a loss of power.
            NORMAL: it survives the death of every process, but a loss of power may undo the last ones; a commit then
            waits for no disk.
        tables: SQL statements that create the tables in an empty file.
        migrations: for each earlier version, SQL statements that make its tables those of the next version. A file of
            an earlier version without them is refused.
    """

    name: str
    application_id: int
    version: int
    settings: Sequence[str]
    tables: str
    migrations: Mapping[int, str] = field(default_factory=dict[int, str])


class Database:
    """An open SQLite file. Threads take turns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()

    def rows(self, statement: str, *values: Any) -> Sequence[sqlite3.Row]:
        """The result of one statement that reads."""
        with self._turn:
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction that writes, during the `with` block; an exception undoes it."""
        with self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def claim(self) -> bool:
        """Always true: a file has no lock that would keep another endpoint from processing its contents."""
        return True

    def sync(self) -> None:
        """Write what is committed to the file itself: it survives a loss of power, and what was deleted is nowhere."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._turn:
            self._connection.close()


def open_database(file: Path, kind: FileKind, *, create: bool) -> Database:
    """Open `file`.

    Args:
        create: make the file, readable only by its owner, if it does not exist.

    Raises:
        InputError: when the file does not exist, cannot be opened, or is not of this kind and version.
    """
    if not create and not file.is_file():
        raise InputError(f"{file} does not exist; give a {kind.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        # Autocommit: `transaction` says where transactions begin and end.
        connection = sqlite3.connect(file, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        _prepare(connection, file, kind)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{file} cannot be opened as a {kind.name}: {error}") from error
    return Database(connection)


def _prepare(connection: sqlite3.Connection, file: Path, kind: FileKind) -> None:
    """Make the tables of this version. Raises InputError, and changes nothing, for another kind or unknown version."""
    _check(connection, file, kind)
    for setting in (*kind.settings, "journal_mode = WAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        _make_tables(connection, kind)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _make_tables(connection: sqlite3.Connection, kind: FileKind) -> None:
    """The tables of an empty file, or those of an earlier version; another process may have made them."""
    if _is_empty(connection):
        _execute(connection, kind.tables)
        connection.execute(f"PRAGMA application_id = {kind.application_id}")
        connection.execute(f"PRAGMA user_version = {kind.version}")
    for version in range(_number(connection, "user_version"), kind.version):
        _execute(connection, kind.migrations[version])
        connection.execute(f"PRAGMA user_version = {version + 1}")


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    """Execute statements in the present transaction, which `executescript` would end."""
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)


def _check(connection: sqlite3.Connection, file: Path, kind: FileKind) -> None:
    if _is_empty(connection):
        return
    if _number(connection, "application_id") != kind.application_id:
        raise InputError(f"{file} is a SQLite file, but not a {kind.name}; give another file")
    version = _number(connection, "user_version")
    if version not in {*kind.migrations, kind.version}:
        raise InputError(
            f"{file} is a {kind.name} of version {version}; this layoutray uses version {kind.version}; give a file of "
            "that version, or create another"
        )


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not _number(connection, "schema_version")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
