"""A list and a dict on this machine's disk, for what grows with the number of documents and must not fill memory.

They are rows of SQLite's own temporary files, which nobody else sees and which are gone with their process, however it ends. They lie where
SQLITE_TMPDIR or TMPDIR says. One thread at a time uses them.
"""

import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, overload

from layoutray.errors import InputError

Value = TypeVar("Value")

_CACHE = 8  # MiB of each; the operating system keeps what memory has room for beside it
_TOGETHER = 1000
"""Rows that are read at a time: nothing is kept open in between, so that a list may grow while it is read."""


class SpilledList(Sequence[Value]):
    """A sequence of which memory holds a few values at a time.

    Args:
        pack: a value as text.
        unpack: the value of such a text.
    """

    def __init__(self, pack: Callable[[Value], str], unpack: Callable[[str], Value]) -> None:
        self._pack, self._unpack = pack, unpack
        self._rows = _table("CREATE TABLE row (number INTEGER PRIMARY KEY, value TEXT)")
        weakref.finalize(self, self._rows.close)
        self._length = 0

    def append(self, value: Value) -> None:
        """Raises InputError when the disk is full."""
        with _room():
            self._rows.execute("INSERT INTO row VALUES (?, ?)", (self._length, self._pack(value)))
        self._length += 1

    def extend(self, values: Iterable[Value]) -> None:
        """As `append`, for each."""
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Value]:
        start = 0
        while rows := self._rows.execute(
            "SELECT value FROM row WHERE number >= ? ORDER BY number LIMIT ?", (start, _TOGETHER)
        ).fetchall():
            start += len(rows)
            yield from (self._unpack(text) for (text,) in rows)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._length))]
        row = self._rows.execute("SELECT value FROM row WHERE number = ?", (range(self._length)[index],)).fetchone()
        return self._unpack(row[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        raise TypeError("a list cannot be hashed")


class SpilledDict(Mapping[str, Value]):
    """Values by key, of which memory holds a few at a time; keys in their order.

    Args:
        pack: a value as text.
        unpack: the value of such a text.
    """

    def __init__(self, pack: Callable[[Value], str], unpack: Callable[[str], Value]) -> None:
        self._pack, self._unpack = pack, unpack
        self._rows = _table("CREATE TABLE row (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        weakref.finalize(self, self._rows.close)

    def __setitem__(self, key: str, value: Value) -> None:
        with _room():
            self._rows.execute("REPLACE INTO row VALUES (?, ?)", (key, self._pack(value)))

    def __getitem__(self, key: str) -> Value:
        row = self._rows.execute("SELECT value FROM row WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return self._unpack(row[0])

    def __contains__(self, key: object) -> bool:
        return self._rows.execute("SELECT 1 FROM row WHERE key = ?", (key,)).fetchone() is not None

    def __len__(self) -> int:
        return int(self._rows.execute("SELECT COUNT(*) FROM row").fetchone()[0])

    def __iter__(self) -> Iterator[str]:
        some = self._rows.execute("SELECT key FROM row ORDER BY key LIMIT ?", (_TOGETHER,)).fetchall()
        while some:
            yield from (key for (key,) in some)
            some = self._rows.execute(
                "SELECT key FROM row WHERE key > ? ORDER BY key LIMIT ?", (*some[-1], _TOGETHER)
            ).fetchall()


def texts() -> "SpilledDict[str]":
    """Texts by key."""
    return SpilledDict(str, str)


def keys(found: Iterable[str]) -> "SpilledDict[str]":
    """A set: keys with nothing behind them."""
    spilled = texts()
    for key in found:
        spilled[key] = ""
    return spilled


def _table(statement: str) -> sqlite3.Connection:
    # Nothing is ever undone, and nobody reads it after a crash. An empty name is a temporary file's.
    rows = sqlite3.connect("", check_same_thread=False)
    for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = {-1024 * _CACHE}"):
        rows.execute(f"PRAGMA {setting}")
    rows.execute(statement)
    return rows


@contextmanager
def _room() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InputError(
            f"what is planned does not fit on the disk for temporary files ({error}); set TMPDIR to a folder with more room, "
            "about 2 KB a document"
        ) from error
