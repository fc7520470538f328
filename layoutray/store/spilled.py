"""A list and a dict on the local disk, for data that grows with the number of documents and does not fit into memory.

They are rows of SQLite temporary files. Only this process can see these files, and they disappear when it ends, even if
it is killed. SQLITE_TMPDIR or TMPDIR names their folder. Only one thread at a time may use them.
"""

import json
import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from layoutray.errors import InputError

Value = TypeVar("Value")

_CACHE = 8  # MiB of each list or dict; the operating system caches more if memory is free
_ROWS_PER_READ = 1000
"""No query stays open between two reads, so a list may grow during an iteration."""


@dataclass(frozen=True, slots=True)
class TextCodec(Generic[Value]):
    """How a value is written as text and read again: on disk, and in tables for other processes."""

    pack: Callable[[Value], str]
    unpack: Callable[[str], Value]


TEXT: TextCodec[str] = TextCodec(str, str)
JSON: TextCodec[Any] = TextCodec(json.dumps, json.loads)
"""For plain values; tuples become lists."""


class SpilledList(Sequence[Value]):
    """A sequence that keeps only a few values in memory at a time."""

    def __init__(self, codec: TextCodec[Value]) -> None:
        self._codec = codec
        self._rows = _table("CREATE TABLE row (number INTEGER PRIMARY KEY, value TEXT)")
        weakref.finalize(self, self._rows.close)
        self._length = 0

    def append(self, value: Value) -> None:
        """Append a value. Raises InputError if the disk is full."""
        with _disk_errors():
            self._rows.execute("INSERT INTO row VALUES (?, ?)", (self._length, self._codec.pack(value)))
        self._length += 1

    def extend(self, values: Iterable[Value]) -> None:
        """Append each value. Raises InputError if the disk is full."""
        for value in values:
            self.append(value)

    def packed(self) -> Iterator[str]:
        start = 0
        while rows := self._rows.execute(
            "SELECT value FROM row WHERE number >= ? ORDER BY number LIMIT ?", (start, _ROWS_PER_READ)
        ).fetchall():
            start += len(rows)
            yield from (text for (text,) in rows)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Value]:
        return map(self._codec.unpack, self.packed())

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._length))]
        row = self._rows.execute("SELECT value FROM row WHERE number = ?", (range(self._length)[index],)).fetchone()
        return self._codec.unpack(row[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        raise TypeError("a list cannot be hashed")


class SpilledDict(Mapping[str, Value]):
    """A mapping that keeps only a few values in memory at a time. Iteration is in the order of the keys."""

    def __init__(self, codec: TextCodec[Value]) -> None:
        self._codec = codec
        self._rows = _table("CREATE TABLE row (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        weakref.finalize(self, self._rows.close)

    def __setitem__(self, key: str, value: Value) -> None:
        with _disk_errors():
            self._rows.execute("REPLACE INTO row VALUES (?, ?)", (key, self._codec.pack(value)))

    def __getitem__(self, key: str) -> Value:
        row = self._rows.execute("SELECT value FROM row WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return self._codec.unpack(row[0])

    def __contains__(self, key: object) -> bool:
        return self._rows.execute("SELECT 1 FROM row WHERE key = ?", (key,)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._rows.execute("SELECT COUNT(*) FROM row").fetchone()[0])

    def __iter__(self) -> Iterator[str]:
        rows = self._rows.execute("SELECT key FROM row ORDER BY key LIMIT ?", (_ROWS_PER_READ,)).fetchall()
        while rows:
            yield from (key for (key,) in rows)
            rows = self._rows.execute(
                "SELECT key FROM row WHERE key > ? ORDER BY key LIMIT ?", (*rows[-1], _ROWS_PER_READ)
            ).fetchall()


def spilled_set(values: Iterable[str]) -> SpilledDict[str]:
    """A set of texts: the keys of a dict with empty values."""
    spilled = SpilledDict(TEXT)
    for value in values:
        spilled[value] = ""
    return spilled


def _table(statement: str) -> sqlite3.Connection:
    # No rollback and no recovery after a crash are needed, so journal and synchronisation are off.
    # SQLite creates a temporary file for an empty name.
    rows = sqlite3.connect("", check_same_thread=False)
    for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = {-1024 * _CACHE}"):
        rows.execute(f"PRAGMA {setting}")
    rows.execute(statement)
    return rows


@contextmanager
def _disk_errors() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InputError(
            f"the list of documents or pages does not fit on the disk for temporary files ({error}); "
            "set TMPDIR to a folder with more room, about 2 KB per document"
        ) from error
