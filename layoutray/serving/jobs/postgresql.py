"""A database of a PostgreSQL server, with the methods of `database.Database`.

The package psycopg is an extra, so only what opens such a database imports this module.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, pq, rows

from layoutray.errors import InputError
from layoutray.serving.jobs.database_server import ServerError, ServerKind

SCHEME = "postgresql://"

_Connection = psycopg.Connection[rows.DictRow]
_Result = TypeVar("_Result")

_DEFAULTS = (
    ("application_name", "layoutray"),
    # How soon a server that does not answer is given up, in seconds, and in milliseconds.
    ("connect_timeout", "5"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "5"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
)
"""Parameters of the connection that an address may change."""
_SESSION = (
    # What is committed survives a loss of power, whatever the server's default is.
    "synchronous_commit=on",
    # A locked table is waited for no longer than a locked SQLite file.
    "lock_timeout=5s",
    # When the machine of a client has died, the server ends its connection, and with it its lock, within a minute.
    "tcp_keepalives_idle=20",
    "tcp_keepalives_interval=10",
    "tcp_keepalives_count=3",
)
_PAUSE_SECONDS = 1.0
"""After an attempt to connect that failed, those that wait behind it fail at once. Each attempt may take seconds."""


class ServerDatabase:
    """A database that is used through one connection. Threads take turns, and so do the transactions of processes.

    The next use replaces a connection that was lost. It repeats what cannot have changed anything: statements that
    read, and the begin of a transaction. A transaction whose connection is lost fails with ServerError.
    """

    def __init__(self, connect: Callable[[], _Connection], kind: ServerKind) -> None:
        self._connect = connect
        self._kind = kind
        self._connection: _Connection | None = None
        self._claimed = False
        self._failed = -_PAUSE_SECONDS
        self._turn = threading.Lock()

    def rows(self, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        """The result of one statement that reads."""
        with self._turn, _server_errors():
            return self._repeated(lambda connection: connection.execute(_numbered(statement), values).fetchall())

    @contextmanager
    def transaction(self) -> "Generator[ServerTransaction]":
        """A transaction that writes, during the `with` block; an exception undoes it."""
        with self._turn, _server_errors():
            try:
                connection = self._repeated(self._begun)
                yield ServerTransaction(connection)
                connection.execute("COMMIT")
            finally:
                self._undo()

    def claim(self) -> bool:
        """Whether this process alone may process what is in the database.

        The first process that asks may, until its connection ends. Raises ServerError.
        """
        with self._turn, _server_errors():
            return self._claimed or self._repeated(self._lock)

    def sync(self) -> None:
        """Does nothing: the server has written what is committed, and frees the space of what was deleted itself."""

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()

    def _repeated(self, work: Callable[[_Connection], _Result]) -> _Result:
        """The result of `work`, which is done again when the connection was lost."""
        if self._connection is not None:
            try:
                return work(self._connection)
            except psycopg.Error:
                if not self._connection.closed:
                    raise
        self._connection, self._claimed = self._connected(), False
        return work(self._connection)

    def _connected(self) -> _Connection:
        if time.monotonic() - self._failed < _PAUSE_SECONDS:
            raise ServerError("the database server could not be reached a moment ago")
        try:
            return self._connect()
        except psycopg.Error:
            self._failed = time.monotonic()
            raise

    def _begun(self, connection: _Connection) -> _Connection:
        """Begin a transaction when no other process has one, as `BEGIN IMMEDIATE` does in SQLite."""
        locking = f"SELECT pg_advisory_xact_lock({self._kind.lock}, hashtext(current_schema()))"
        connection.execute(f"BEGIN; {locking}".encode())
        return connection

    def _undo(self) -> None:
        connection = self._connection
        if connection and not connection.closed and connection.info.transaction_status != pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")

    def _lock(self, connection: _Connection) -> bool:
        locking = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema())) AS locked"
        (found,) = connection.execute(locking, [self._kind.lock + 1]).fetchall()
        self._claimed = found["locked"]
        return self._claimed


class ServerTransaction:
    """Executes statements with `?` for each value. No statement has `?` or `%` elsewhere."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[rows.DictRow]:
        return self._connection.execute(_numbered(statement), values)

    def executemany(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Execute a statement with each of `values`, without a wait between them."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_numbered(statement), values)


def open_server(address: str, kind: ServerKind) -> ServerDatabase:
    """Open the database at `address`, and create its tables if it has none.

    Args:
        address: `postgresql://USER@HOST:PORT/DATABASE`, as libpq takes it, without a password.

    Raises:
        InputError: when this is no such address, the database cannot be used, or it has other tables, or those of
            another version. No message has a password.
    """
    shown = _without_user(address)
    connect = partial(_connect, _settings(address, shown))
    try:
        with connect() as connection:
            _prepare(connection, shown, kind)
    except psycopg.Error as error:
        raise InputError(
            f"{shown} cannot be opened as a {kind.name}: {_message(error)}; the server must run, and the database must "
            "exist and belong to the user, whose password is read from PGPASSWORD or ~/.pgpass"
        ) from error
    return ServerDatabase(connect, kind)


def _without_user(address: str) -> str:
    """The part of an address that has neither user nor password."""
    return SCHEME + address.removeprefix(SCHEME).rpartition("@")[2].partition("?")[0]


def _settings(address: str, shown: str) -> str:
    """The parameters of the connection, as libpq takes them."""
    try:
        given = conninfo.conninfo_to_dict(address)
        [int(port) for port in str(given.get("port", "0")).split(",")]
    except (psycopg.ProgrammingError, ValueError):  # whose messages may quote a password
        raise InputError(
            f"{shown} is not an address of the form {SCHEME}USER@HOST:PORT/DATABASE; write special characters as %XX"
        ) from None
    if {"password", "sslpassword"} & given.keys():
        raise InputError(
            f"the address of {shown} has a password, which everybody on this machine can read in the list of "
            "processes; take it out, and give it in the environment variable PGPASSWORD or in ~/.pgpass"
        )
    options = " ".join([str(given.get("options", "")), *(f"-c {setting}" for setting in _SESSION)])
    return conninfo.make_conninfo("", **{**dict(_DEFAULTS), **given, "options": options, "client_encoding": "utf8"})


def _connect(settings: str) -> _Connection:
    """A connection on which each statement is a transaction, unless it is told otherwise."""
    return _Connection.connect(settings, autocommit=True, row_factory=rows.dict_row)


def _prepare(connection: _Connection, shown: str, kind: ServerKind) -> None:
    """Make the tables in an empty schema. Raises InputError, and changes nothing, for other tables or versions."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InputError(f"{shown} has the encoding {encoding}; create it with UTF8")
    with connection.transaction():
        # Two processes must not create the tables at the same time.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [kind.lock])
        tables = [row["name"] for row in connection.execute(_TABLES)]
        if not tables:
            connection.execute(kind.tables.encode())
            connection.execute(f"CREATE TABLE {kind.mark} AS SELECT {kind.version} AS version".encode())
        elif kind.mark not in tables:
            some = ", ".join(tables[:3])
            raise InputError(f"{shown} has other tables ({some}), but no {kind.name}; give an empty database")
        _check_version(connection, shown, kind)


def _check_version(connection: _Connection, shown: str, kind: ServerKind) -> None:
    (found,) = connection.execute(f"SELECT version FROM {kind.mark}".encode()).fetchall()
    if found["version"] != kind.version:
        raise InputError(
            f"{shown} is a {kind.name} of version {found['version']}; this layoutray uses version {kind.version}; give "
            "a database of that version, or an empty one"
        )


@contextmanager
def _server_errors() -> Generator[None]:
    """Raise ServerError for an error of psycopg."""
    try:
        yield
    except psycopg.Error as error:
        raise ServerError(_message(error), no_space=isinstance(error, psycopg.errors.DiskFull)) from error


def _message(error: psycopg.Error) -> str:
    """The first line of an error. Further ones may have values of a row."""
    return error.diag.message_primary or str(error).partition("\n")[0]


def _numbered(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


_TABLES = """
    SELECT relname AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'f') ORDER BY relname
"""
