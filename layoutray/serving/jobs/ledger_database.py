"""The database of a job ledger: a SQLite file, or a database of a PostgreSQL server.

Both take the same statements, with `?` for each value. Columns of rows are read by their names.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from layoutray.errors import InputError, MissingDependencyError
from layoutray.serving.jobs.ledger_tables import LEDGER, SERVER_LEDGER
from layoutray.store.database import open_database

_ALLOWED = "give a file, or a database of PostgreSQL as postgresql://USER@HOST/DATABASE"


class Row(Protocol):
    """A row of a result."""

    def keys(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


class Result(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchall(self) -> Sequence[Row]: ...


class Transaction(Protocol):
    """Statements that take effect together."""

    def execute(self, statement: str, values: Sequence[Any], /) -> Result: ...
    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> object: ...


class LedgerDatabase(Protocol):
    """An open database; see `store.database.Database`. Its methods raise one of DATABASE_ERRORS."""

    def rows(self, statement: str, *values: Any) -> Sequence[Row]: ...
    def transaction(self) -> AbstractContextManager[Transaction]: ...
    def claim(self) -> bool: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


def open_ledger_database(address: str) -> LedgerDatabase:
    """Open a file, or the database at an address, and create the tables if it has none.

    Raises:
        InputError: see `open_database` and `open_server`; or when the address is of another kind.
        MissingDependencyError: when the driver of PostgreSQL is not installed.
    """
    scheme, separator, _ = address.partition("://")
    if not separator:
        return open_database(Path(address), LEDGER, create=True)
    if scheme != "postgresql":
        raise InputError(f"a job ledger cannot be at an address {scheme}://; {_ALLOWED}")
    try:
        from layoutray.serving.jobs.postgresql import open_server
    except ImportError as error:
        raise MissingDependencyError(
            f"the driver of PostgreSQL cannot be imported ({error}); run `pip install 'layoutray[postgresql]'`"
        ) from error
    return open_server(address, SERVER_LEDGER)
