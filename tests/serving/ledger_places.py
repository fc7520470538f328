"""Where the tests keep job ledgers: in a SQLite file, or in a database of a real PostgreSQL server."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutray.serving.jobs.ledger import Ledger

if TYPE_CHECKING:
    from tests.postgresql import Server


@dataclass
class LedgerPlace:
    """Attributes:
    address: of the ledger, as `Ledger.open` takes it.
    server: of the database; None for a file.
    """

    address: str
    server: "Server | None" = None
    _opened: list[Ledger] = field(default_factory=list[Ledger])

    def open(self, system: Callable[[], float] = time.time) -> Ledger:
        """The ledger, which is closed at the end of the test."""
        self._opened.append(Ledger.open(self.address, system))
        return self._opened[-1]

    def close(self) -> None:
        for ledger in self._opened:
            ledger.close()

    def having(self, content: bytes) -> list[str]:
        """The files, or the tables of the server, that have `content` somewhere."""
        if self.server is None:
            file = Path(self.address)
            return [one.name for one in file.parent.glob(f"{file.name}*") if content in one.read_bytes()]
        tables = self.server.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()", self.address
        )
        return [
            table
            for (table,) in tables
            if any(
                content in _bytes(value) for row in self.server.execute(f"TABLE {table}", self.address) for value in row
            )
        ]


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
