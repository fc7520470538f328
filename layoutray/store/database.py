"""A database that several processes share: keys of the endpoint, its jobs, or documents under review.

It is a SQLite file in WAL mode, so that reading never waits for writing. The file must be on a local disk: SQLite's
locks do not work on most network file systems. Jobs may be in a PostgreSQL server instead: see `serving.jobs.server`.
"""

import errno
import fcntl
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Executable, QueuePool, RowMapping, create_engine, text
from sqlalchemy.exc import DBAPIError

from layoutray.errors import ApiError, InputError

_WAIT_SECONDS = 5.0
"""How long a transaction waits for that of another process."""
_DISK_FULL = (sqlite3.SQLITE_FULL, "53100", errno.ENOSPC, errno.EDQUOT)
"""Codes of SQLite, PostgreSQL and the system."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_OF_ROW = " with text "
"""Begin of what SQLite quotes from a row that is not UTF-8."""


class DatabaseError(Exception):
    """A database cannot be used now. The message has no values of rows. `no_space`: whether a disk is full."""

    def __init__(self, error: DBAPIError | OSError | UnicodeDecodeError) -> None:
        cause = getattr(error, "orig", None) or error
        message = str(cause).partition("\n")[0].partition(_OF_ROW)[0]  # further lines may have values of a row
        codes = [getattr(cause, name, None) for name in ("sqlite_errorcode", "sqlstate", "errno")]
        self.no_space = any(code in _DISK_FULL for code in codes)
        if isinstance(cause, UnicodeDecodeError) or (codes[0] or 0) & 0xFF in _DAMAGED:
            message += "; the file is damaged: restore it from a backup, or move it away and begin with a new one"
        super().__init__(message)

    def response(self, name: str) -> ApiError:
        """The error response (503) to a request that needs the database, which is a `name`."""
        if self.no_space:
            return no_space()
        message = f"the {name} cannot be used now; see the log of the endpoint"
        return ApiError(503, "unavailable", message, retryable=True)


def no_space() -> ApiError:
    """The error response (503) to a request for which a disk has no room."""
    message = "a disk of the endpoint is full, and nothing was stored; try again later, or tell its operator"
    return ApiError(503, "no_space", message, retryable=True)


class Database(ABC):
    """An open database, used through one connection. Threads take turns; so do transactions of all processes.

    A lost connection is replaced at the next use. All methods raise DatabaseError.

    Args:
        dialect: URL of SQLAlchemy without an address.
        connect: opens a connection of the driver.
        alone: statement that begins a transaction when no other process has one.
    """

    def __init__(self, dialect: str, connect: Callable[[], Any], alone: Executable) -> None:
        self._engine = create_engine(
            dialect,
            creator=connect,
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            pool_pre_ping=True,
            hide_parameters=True,
        )
        self._alone = alone
        self._turn = threading.Lock()

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """The connection, during the `with` block; what is not committed then is undone."""
        with self._turn:
            try:
                with self._engine.connect() as connection:
                    yield connection
            except (DBAPIError, UnicodeDecodeError) as error:  # the latter from a damaged file
                raise DatabaseError(error) from error

    def rows(self, statement: Executable | str, *values: Any) -> Sequence[RowMapping]:
        """The result of one statement that reads. One in SQL takes `values`."""
        with self.connection() as connection:
            if isinstance(statement, str):
                return connection.exec_driver_sql(statement, values).mappings().all()
            return connection.execute(statement).mappings().all()

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """A transaction that writes, during the `with` block; an exception undoes it."""
        with self.connection() as connection:
            connection.execute(self._alone)
            yield connection
            connection.commit()

    def set_up(self, prepare: Callable[[Connection], None]) -> None:
        """Make the tables in a transaction; close the database if that fails."""
        try:
            with self.transaction() as connection:
                prepare(connection)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def claim(self) -> bool:
        """Whether this process alone may process what is in the database. The first that asks may, until it ends."""

    @abstractmethod
    def sync(self) -> None:
        """Wait until what is committed survives a loss of power, and what was deleted is nowhere in a file."""

    def close(self) -> None:
        with self._turn:
            self._engine.dispose()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What a SQLite file holds.

    Attributes:
        name: for messages, e.g. `key file`.
        application_id: the number in the file's header that marks this kind.
        version: of the tables. A file of a later version is refused.
        settings: SQLite's, besides WAL. `synchronous = FULL`: a committed transaction survives a loss of power.
            NORMAL: it survives the death of every process, but a loss of power may undo the last ones; a commit then
            waits for no disk.
        create: creates the tables in an empty file.
        migrations: for each earlier version, what makes its tables those of the next version. A file of an earlier
            version without one is refused.
    """

    name: str
    application_id: int
    version: int
    settings: Sequence[str]
    create: Callable[[Connection], None]
    migrations: Mapping[int, Callable[[Connection], None]] = field(
        default_factory=dict[int, Callable[[Connection], None]]
    )


class DatabaseFile(Database):
    """An open SQLite file. Its claim is a lock on a file beside it, which the system releases when a process ends."""

    def __init__(self, file: Path, kind: FileKind) -> None:
        super().__init__("sqlite://", partial(_connect, file, kind), text("BEGIN IMMEDIATE"))
        self._claims = file.resolve().with_name(f"{file.resolve().name}.lock")
        self._claim: int | None = None

    def claim(self) -> bool:
        with self._turn:
            if self._claim is None:
                # SQLite's own file must not be opened again: closing it would release the locks of SQLite.
                try:
                    descriptor = os.open(self._claims, os.O_CREAT | os.O_RDWR, 0o600)
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        self._claim = descriptor
                    except BlockingIOError:  # somebody else has it locked
                        os.close(descriptor)
                except OSError as error:
                    raise DatabaseError(error) from error
            return self._claim is not None

    def sync(self) -> None:
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        super().close()
        with self._turn:
            if self._claim is not None:
                os.close(self._claim)
                self._claim = None


def open_database(file: Path, kind: FileKind, *, create: bool) -> DatabaseFile:
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
        if not file.exists():
            file.touch(mode=0o600)
        database = DatabaseFile(file, kind)
        database.set_up(partial(_make_tables, kind))
    except (OSError, DatabaseError) as error:
        raise InputError(f"{file} cannot be opened as a {kind.name}: {error}") from error
    return database


def executed(statements: str) -> Callable[[Connection], None]:
    """A function that executes SQL statements, separated by `;`, for `FileKind`."""

    def execute(connection: Connection) -> None:
        for statement in filter(str.strip, statements.split(";")):
            connection.exec_driver_sql(statement)

    return execute


def _connect(file: Path, kind: FileKind) -> sqlite3.Connection:
    """A connection. Raises InputError, and changes nothing, when the file is of another kind or an unknown version."""
    # Autocommit: `Database.transaction` says where transactions begin and end.
    connection = sqlite3.connect(file, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    if _number(connection, "schema_version"):  # else it is empty
        if _number(connection, "application_id") != kind.application_id:
            raise InputError(f"{file} is a SQLite file, but not a {kind.name}; give another file")
        version = _number(connection, "user_version")
        if version not in {*kind.migrations, kind.version}:
            raise InputError(
                f"{file} is a {kind.name} of version {version}; this layoutray uses version {kind.version}; give a "
                "file of that version, or create another"
            )
    for setting in (*kind.settings, "journal_mode = WAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _make_tables(kind: FileKind, connection: Connection) -> None:
    """The tables of an empty file, or those of an earlier version; another process may have made them."""
    if not connection.exec_driver_sql("PRAGMA schema_version").scalar_one():
        kind.create(connection)
        connection.exec_driver_sql(f"PRAGMA application_id = {kind.application_id}")
        connection.exec_driver_sql(f"PRAGMA user_version = {kind.version}")
    for version in range(connection.exec_driver_sql("PRAGMA user_version").scalar_one(), kind.version):
        kind.migrations[version](connection)
        connection.exec_driver_sql(f"PRAGMA user_version = {version + 1}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
