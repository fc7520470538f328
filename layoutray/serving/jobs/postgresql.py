"""A job ledger in a database of a PostgreSQL server.

The package psycopg is an extra, so only what opens such a database imports this module.
"""

import time
from functools import partial
from typing import Any

import psycopg
from psycopg import conninfo
from sqlalchemy import Connection, func, inspect, select

from layoutray.errors import InputError
from layoutray.serving.jobs import tables
from layoutray.store.database import Database, DatabaseError

_SCHEME = "postgresql://"
_MARK = "layoutray_job_ledger"
"""The table that only databases with a ledger have; its only row has the version."""
_LOCK = tables.LEDGER_FILE.application_id
"""Number of the advisory lock of transactions; the next one is that of the process that has claimed the ledger."""

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


class ServerDatabase(Database):
    """The database of a ledger; `settings` as libpq takes them. A claim ends with the connection that has made it."""

    def __init__(self, settings: str) -> None:
        schema = func.hashtext(func.current_schema())
        super().__init__("postgresql+psycopg://", self._connect, select(func.pg_advisory_xact_lock(_LOCK, schema)))
        self._claiming = select(func.pg_try_advisory_lock(_LOCK + 1, schema))
        self._settings = settings
        self._failed = -_PAUSE_SECONDS

    def claim(self) -> bool:
        with self.connection() as connection:
            if not connection.info.get("claimed"):  # kept by SQLAlchemy as long as the connection lasts
                connection.info["claimed"] = connection.scalar(self._claiming)
            return bool(connection.info["claimed"])

    def sync(self) -> None:
        """Does nothing: the server has written what is committed, and frees the space of what was deleted itself."""

    def _connect(self) -> psycopg.Connection[Any]:
        if time.monotonic() - self._failed < _PAUSE_SECONDS:
            raise psycopg.OperationalError("the database server could not be reached a moment ago")
        try:
            return psycopg.connect(self._settings)
        except psycopg.Error:
            self._failed = time.monotonic()
            raise


def open_server(address: str) -> ServerDatabase:
    """Open the database at `address`, and create the tables if it has none.

    Args:
        address: `postgresql://USER@HOST:PORT/DATABASE`, as libpq takes it, without a password.

    Raises:
        InputError: when this is no such address, the database cannot be used, or it has other tables, or those of
            another version. No message has a password.
    """
    shown = _SCHEME + address.removeprefix(_SCHEME).rpartition("@")[2].partition("?")[0]
    database = ServerDatabase(_settings(address, shown))
    try:
        database.set_up(partial(_prepare, shown))
    except DatabaseError as error:
        raise InputError(
            f"{shown} cannot be opened as a job ledger: {error}; the server must run, and the database must exist and "
            "belong to the user, whose password is read from PGPASSWORD or ~/.pgpass"
        ) from error
    return database


def _settings(address: str, shown: str) -> str:
    """The parameters of the connection, as libpq takes them."""
    try:
        given = conninfo.conninfo_to_dict(address)
        [int(port) for port in str(given.get("port", "0")).split(",")]
    except (psycopg.ProgrammingError, ValueError):  # whose messages may quote a password
        raise InputError(
            f"{shown} is not an address of the form {_SCHEME}USER@HOST:PORT/DATABASE; write special characters as %XX"
        ) from None
    if {"password", "sslpassword"} & given.keys():
        raise InputError(
            f"the address of {shown} has a password, which everybody on this machine can read in the list of "
            "processes; take it out, and give it in the environment variable PGPASSWORD or in ~/.pgpass"
        )
    options = " ".join([str(given.get("options", "")), *(f"-c {setting}" for setting in _SESSION)])
    return conninfo.make_conninfo("", **{**dict(_DEFAULTS), **given, "options": options, "client_encoding": "utf8"})


def _prepare(shown: str, connection: Connection) -> None:
    """Make the tables in an empty schema. Raises InputError, and changes nothing, for other tables or versions."""
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise InputError(f"{shown} has the encoding {encoding}; create it with UTF8")
    server = inspect(connection)
    found = sorted(server.get_table_names(server.default_schema_name))
    if not found:
        tables.METADATA.create_all(connection, checkfirst=False)
        connection.exec_driver_sql(f"CREATE TABLE {_MARK} AS SELECT {tables.VERSION} AS version")
    elif _MARK not in found:
        some = ", ".join(found[:3])
        raise InputError(f"{shown} has other tables ({some}), but no job ledger; give an empty database")
    version = connection.exec_driver_sql(f"SELECT version FROM {_MARK}").scalar_one()
    if version != tables.VERSION:
        raise InputError(
            f"{shown} is a job ledger of version {version}; this layoutray uses version {tables.VERSION}; give a "
            "database of that version, or an empty one"
        )
