"""The keys of the endpoint, their scopes and limits, in a SQLite file that `layoutray keys` and the endpoint share.

Only the SHA-256 of a key is stored. A key has 256 random bits, so nobody can guess one whose hash is known: a slow
hash, as passwords need, would protect nothing more and would cost time in every request.

The endpoint reads the file for every request. A key that is created or revoked takes effect with the next one.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from sqlalchemy import RowMapping

from layoutray.errors import InputError
from layoutray.store.database import Database, FileKind, executed, open_database

Scope = Literal["extract", "jobs", "review", "metrics", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_KEY_FILE = FileKind(
    name="key file",
    application_id=0x6C726B79,  # "lrky"
    version=2,
    settings=("synchronous = NORMAL",),  # requests are counted here
    create=executed("""
        CREATE TABLE keys (
            name TEXT PRIMARY KEY,
            sha256 TEXT NOT NULL,
            scopes TEXT NOT NULL,
            pages_per_day INTEGER,
            requests_per_minute INTEGER,
            created REAL NOT NULL,
            revoked REAL,
            full_at REAL NOT NULL DEFAULT 0,
            team TEXT NOT NULL DEFAULT ''
        );
        CREATE TABLE pages (
            name TEXT NOT NULL REFERENCES keys,
            day TEXT NOT NULL,
            pages INTEGER NOT NULL,
            PRIMARY KEY (name, day)
        )
    """),
    migrations={1: executed("ALTER TABLE keys ADD COLUMN team TEXT NOT NULL DEFAULT ''")},
)
_PREFIX = "layoutray"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_WINDOW_SECONDS = 60.0
_ROUNDING = 1e-6  # of seconds since 1970 as floats
_NO_HASH = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
"""Compared with when there is no such name, so that the time does not tell whether there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of a key.

    Attributes:
        name: says whose key it is, in the audit log. A name is never used twice.
        scopes: what the key may do; `admin` includes all others.
        pages_per_day: most pages in one day (UTC); None is no limit.
        requests_per_minute: most requests in any 60 seconds, on average; None is no limit.
        created, revoked: Unix time; `revoked` is None while the key is valid.
        team: keys of one team share the documents of the review page; empty: the key shares them with none.
    """

    name: str
    scopes: tuple[str, ...]
    pages_per_day: int | None
    requests_per_minute: int | None
    created: float
    revoked: float | None = None
    pages_today: int = 0
    team: str = ""

    @property
    def owner(self) -> str:
        """Who has the documents of the key under review: its team, or the key. No name of a key has a space."""
        return f"team {self.team}" if self.team else self.name

    def may(self, scopes: Collection[str]) -> bool:
        return "admin" in self.scopes or not set(scopes).isdisjoint(self.scopes)


class KeyStore:
    """The keys in one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, file: str, *, create: bool = False) -> "KeyStore":
        """The keys in `file`. Raises InputError: see `open_database`."""
        return cls(open_database(Path(file), _KEY_FILE, create=create))

    def close(self) -> None:
        self._database.close()

    def create(
        self,
        name: str,
        scopes: Sequence[Scope],
        pages_per_day: int | None = None,
        requests_per_minute: int | None = None,
        team: str = "",
    ) -> str:
        """Create a key and return its text, which cannot be read again.

        Raises:
            InputError: when the name is taken, or name or team has other characters than lower-case letters, digits
                and dashes.
        """
        for kind, given in (("key", name), ("team", team or name)):
            if not _NAME.fullmatch(given):
                raise InputError(
                    f"{given!r} cannot be the name of a {kind}; use 1 to 64 of a-z, 0-9 and -, and begin with a letter "
                    "or digit"
                )
        text = f"{_PREFIX}_{name}_{secrets.token_hex(32)}"
        values = (name, _sha256(text), " ".join(scopes), pages_per_day, requests_per_minute, time.time(), team)
        columns = "name, sha256, scopes, pages_per_day, requests_per_minute, created, team"
        with self._database.transaction() as database:
            if database.exec_driver_sql("SELECT 1 FROM keys WHERE name = ?", (name,)).first():
                raise InputError(
                    f"there is or was a key {name}; the audit log needs names that are used once: choose another"
                )
            database.exec_driver_sql(f"INSERT INTO keys ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._database.sync()
        return text

    def list(self) -> Sequence[Key]:
        """All keys, also revoked ones, in the order of their creation."""
        return [_key(row) for row in self._database.rows(f"{_SELECT} ORDER BY created, name", today())]

    def revoke(self, name: str) -> None:
        """End the validity of a key; one that is revoked stays so. Raises InputError when there is no such key."""
        with self._database.transaction() as database:
            revoking = "UPDATE keys SET revoked = coalesce(revoked, ?) WHERE name = ?"
            if not database.exec_driver_sql(revoking, (time.time(), name)).rowcount:
                raise InputError(f"there is no key {name!r}; `layoutray keys list` shows all")
        self._database.sync()

    def named(self, name: str) -> Key | None:
        """The key with this name, also if it is revoked; None if there is none."""
        rows = self._database.rows(f"{_SELECT} WHERE keys.name = ?", today(), name)
        return _key(rows[0]) if rows else None

    def find(self, text: str) -> Key | None:
        """The valid key with this text, compared in constant time; None if there is none."""
        rows = self._database.rows(f"{_SELECT} WHERE keys.name = ?", today(), text.split("_")[1] if "_" in text else "")
        same = hmac.compare_digest(_sha256(text), rows[0]["sha256"] if rows else _NO_HASH)
        return _key(rows[0]) if same and rows and rows[0]["revoked"] is None else None

    def take_request(self, key: Key) -> float:
        """Count a request. Returns 0, or the seconds to wait when the key has no request left; that one is not counted.

        The generic cell rate algorithm: `full_at` is the time at which all requests of the minute are available again.
        It is at most a minute away. One that is further away is of a clock that was put back, and does not count.
        """
        if key.requests_per_minute is None:
            return 0.0
        with self._database.transaction() as database:
            full_at = database.exec_driver_sql("SELECT full_at FROM keys WHERE name = ?", (key.name,)).scalar_one()
            now = time.time()
            latest = now + _WINDOW_SECONDS + _ROUNDING
            begin = full_at if now <= full_at <= latest else now
            next_full = begin + _WINDOW_SECONDS / key.requests_per_minute
            if next_full > latest:
                return next_full - now - _WINDOW_SECONDS
            database.exec_driver_sql("UPDATE keys SET full_at = ? WHERE name = ?", (next_full, key.name))
        return 0.0

    def take_pages(self, key: Key, pages: int, day: str) -> int | None:
        """Count pages of `day`, all or none. Returns None, or the pages that are left when they are too few."""
        with self._database.transaction() as database:
            used = database.exec_driver_sql(_USED, (key.name, day)).scalar() or 0
            left = None if key.pages_per_day is None else max(key.pages_per_day - used, 0)
            if left is not None and pages > left:
                return left
            database.exec_driver_sql(_ADD_PAGES, (key.name, day, pages))
        return None

    def return_pages(self, key: Key, pages: int, day: str) -> None:
        """Take back a count of `take_pages`. No more is taken back than was counted on that day."""
        with self._database.transaction() as database:
            database.exec_driver_sql(_RETURN_PAGES, (pages, key.name, day))


_SELECT = "SELECT keys.*, pages.pages FROM keys LEFT JOIN pages ON pages.name = keys.name AND pages.day = ?"
_USED = "SELECT pages FROM pages WHERE name = ? AND day = ?"
_RETURN_PAGES = "UPDATE pages SET pages = max(pages - ?, 0) WHERE name = ? AND day = ?"
_ADD_PAGES = """
    INSERT INTO pages (name, day, pages) VALUES (?, ?, ?)
    ON CONFLICT (name, day) DO UPDATE SET pages = pages + excluded.pages
"""


def today() -> str:
    """The day of page quotas, in UTC."""
    return datetime.now(UTC).date().isoformat()


def seconds_until_tomorrow() -> float:
    """Seconds until page quotas are whole again."""
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()


def _key(row: RowMapping) -> Key:
    return Key(
        name=row["name"],
        scopes=tuple(row["scopes"].split()),
        pages_per_day=row["pages_per_day"],
        requests_per_minute=row["requests_per_minute"],
        created=row["created"],
        revoked=row["revoked"],
        pages_today=row["pages"] or 0,
        team=row["team"],
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
