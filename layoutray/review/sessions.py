"""Who is at the page: sessions, known by a cookie, and the token that every change must bring.

The cookie cannot be read by scripts and is not sent by other sites. The token is in answers that other sites cannot
read, so that their pages cannot send it.
"""

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import Request

from layoutray.review.refused import RefusedError

COOKIE = "layoutray_session"
TOKEN_HEADER = "X-CSRF-Token"
_SECONDS = 12 * 3600.0
_MOST = 10_000
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who may see what.

    Attributes:
        owner: whose documents: the name of a key, or empty where there are no keys.
        sees_all: whether the documents of others too.
    """

    owner: str = ""
    sees_all: bool = False

    @property
    def shown(self) -> str | None:
        """The owner whose documents are shown; None for those of all."""
        return None if self.sees_all else self.owner


class Door(Protocol):
    """Lets people in."""

    needs_key: bool

    async def enter(self, key: str) -> Visitor:
        """The visitor with this key. Raises RefusedError (401, 403 or 429)."""
        ...

    async def still_admits(self, visitor: Visitor) -> bool:
        """Whether the visitor may go on: the key was not revoked."""
        ...


class OpenDoor:
    """Lets everybody in, where only this machine can come."""

    needs_key = False

    async def enter(self, key: str) -> Visitor:
        return Visitor()

    async def still_admits(self, visitor: Visitor) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Session:
    """One person at one browser.

    Attributes:
        reviewer: name of the person, for the history.
        token: must come with every change.
    """

    visitor: Visitor
    reviewer: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    ends: float = field(default_factory=lambda: time.time() + _SECONDS)


class Sessions:
    """The sessions of one server; they end with it.

    Args:
        reviewer: name of a person who gives none.
    """

    def __init__(self, door: Door, reviewer: str) -> None:
        self.door = door
        self._reviewer = reviewer
        self._sessions: dict[str, Session] = {}

    async def begin(self, key: str, reviewer: str) -> tuple[str, Session]:
        """Begin a session; returns the content of its cookie. Raises RefusedError as `Door.enter`."""
        visitor = await self.door.enter(key)
        name = reviewer.strip()[:_LONGEST_NAME] or visitor.owner or self._reviewer
        cookie, session = secrets.token_urlsafe(32), Session(visitor, name)
        for ended in [known for known, one in self._sessions.items() if one.ends < time.time()]:
            del self._sessions[ended]
        while len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[_hash(cookie)] = session
        return cookie, session

    async def of(self, cookie: str, token: str | None) -> Session:
        """The session of a request.

        Args:
            token: that of a request that changes something; None for one that only reads.

        Raises:
            RefusedError: 401 without a session; 403 when the token is wrong.
        """
        session = self._sessions.get(_hash(cookie))
        if session is None or session.ends < time.time() or not await self.door.still_admits(session.visitor):
            raise RefusedError(401, "no_session", "there is no session, or it has ended; sign in")
        if token is not None and not hmac.compare_digest(token.encode(), session.token.encode()):
            raise RefusedError(
                403, "wrong_token", f"the header {TOKEN_HEADER} is not that of the session; load the page again"
            )
        return session

    def end(self, cookie: str) -> None:
        self._sessions.pop(_hash(cookie), None)

    async def reading(self, request: Request) -> None:
        """A dependency of routes that change nothing. It raises RefusedError as `of`."""
        request.state.session = await self.of(request.cookies.get(COOKIE, ""), None)

    async def changing(self, request: Request) -> None:
        """A dependency of routes that change something. It raises RefusedError as `of`."""
        token = request.headers.get(TOKEN_HEADER, "")
        request.state.session = await self.of(request.cookies.get(COOKIE, ""), token)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
