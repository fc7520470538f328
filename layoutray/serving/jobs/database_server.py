"""What is known of a database of a server without its driver, which is an extra."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerKind:
    """What a database of a server has, as `database.FileKind` says it of a SQLite file.

    Attributes:
        name: for messages, e.g. `job ledger`.
        mark: the table that only databases of this kind have; its only row has the version.
        lock: number of the advisory lock of transactions; the next one is that of the process that has claimed them.
        version: of the tables.
        tables: SQL statements that create the tables in an empty schema.
    """

    name: str
    mark: str
    lock: int
    version: int
    tables: str


class ServerError(Exception):
    """A database server cannot be used now. The message has no values of rows.

    Attributes:
        no_space: whether a disk of the server is full.
    """

    def __init__(self, message: str, *, no_space: bool = False) -> None:
        super().__init__(message)
        self.no_space = no_space


DATABASE_ERRORS = (sqlite3.Error, ServerError)
"""What the use of a SQLite file, or of a database of a server, may raise at any time."""
