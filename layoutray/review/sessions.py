"""Who is at the page: sessions, known by a cookie, and the token that every change must bring.

The cookie cannot be read by scripts and is not sent by other sites. The token is in answers that other sites cannot
read, so that their pages cannot send it.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, FastAPI, Request
from starlette.concurrency import run_in_threadpool

from layoutray.errors import ApiError
from layoutray.store.database import Database

COOKIE = "layoutray_session"
COOKIE_PATH = "/review"
SESSION_PATH = "/session"
TOKEN_HEADER = "X-CSRF-Token"
_SECONDS = 12 * 3600.0
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who may see what.

    Attributes:
        owner: whose documents: a key or a team of keys, or empty where there are no keys.
        sees_all: whether the documents of others too.
        key: name of the visitor's key; empty where there are no keys.
    """

    owner: str = ""
    sees_all: bool = False
    key: str = ""

    @property
    def shown(self) -> str | None:
        """The owner whose documents are shown; None for those of all."""
        return None if self.sees_all else self.owner


class Authenticator:
    """Checks who a visitor is. This one needs no key, for a page that only this machine can open."""

    @property
    def needs_key(self) -> bool:
        """Whether visitors have to give a key."""
        return False

    async def authenticate(self, key: str) -> Visitor:
        """The visitor with this key. Raises ApiError (401, 403 or 429)."""
        return Visitor()

    async def admit(self, visitor: Visitor, path: str) -> bool:
        """Whether the visitor's key is still valid. Raises ApiError (429) when it may send no request now."""
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
    token: str


class Sessions:
    """The sessions of a review file. All processes that use the file know them; only hashes of cookies are stored.

    Args:
        reviewer: name of a person who gives none.
    """

    def __init__(self, database: Database, authenticator: Authenticator, reviewer: str) -> None:
        self.authenticator = authenticator
        self._database = database
        self._reviewer = reviewer

    async def begin(self, key: str, reviewer: str) -> tuple[str, Session]:
        """Begin a session; returns the content of its cookie. Raises ApiError as `Authenticator.authenticate`."""
        visitor = await self.authenticator.authenticate(key)
        name = reviewer.strip()[:_LONGEST_NAME] or visitor.key or self._reviewer
        cookie, session = secrets.token_urlsafe(32), Session(visitor, name, secrets.token_urlsafe(24))
        ends = time.time() + _SECONDS
        row = (_hash(cookie), visitor.owner, visitor.sees_all, name, session.token, ends, visitor.key)
        await self._execute("DELETE FROM sessions WHERE ends < ?", time.time())
        await self._execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
        return cookie, session

    async def of(self, request: Request, *, changes: bool = False) -> Session:
        """The session of a request, which counts for the limit of its key.

        Args:
            changes: whether the request changes something, so that it must have the token.

        Raises:
            ApiError: 401 without a session; 403 when the token is wrong; 429 when the key may send no request now.
        """
        session, token = await self.found(request), request.headers.get(TOKEN_HEADER, "")
        if not await self.authenticator.admit(session.visitor, request.url.path):
            raise _no_session()
        if changes and not hmac.compare_digest(token.encode(), session.token.encode()):
            raise ApiError(
                403, "wrong_token", f"the header {TOKEN_HEADER} is not that of the session; load the page again"
            )
        return session

    async def found(self, request: Request) -> Session:
        """The session of a request, which does not count. Raises ApiError (401) without one."""
        statement, cookie = "SELECT * FROM sessions WHERE cookie = ? AND ends > ?", request.cookies.get(COOKIE, "")
        for row in await run_in_threadpool(self._database.rows, statement, _hash(cookie), time.time()):
            visitor = Visitor(row["owner"], bool(row["sees_all"]), row["key"])
            return Session(visitor, row["reviewer"], row["token"])
        raise _no_session()

    async def end(self, cookie: str) -> None:
        await self._execute("DELETE FROM sessions WHERE cookie = ?", _hash(cookie))

    async def _execute(self, statement: str, *values: Any) -> None:
        def execute() -> None:
            with self._database.transaction() as database:
                database.exec_driver_sql(statement, values)

        await run_in_threadpool(execute)

    def add_routes(self, app: FastAPI, routes: Iterable[tuple[str, str, Callable[..., Any]]]) -> None:
        """Add routes that need a session, which is `request.state.session`; they raise ApiError as `of`.

        Args:
            routes: method, path and handler of each. All but GET change something.
        """

        async def check(request: Request) -> None:
            request.state.session = await self.of(request, changes=request.method != "GET")

        for method, path, handler in routes:
            app.add_api_route(path, handler, methods=[method], dependencies=[Depends(check)], response_model=None)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _no_session() -> ApiError:
    return ApiError(401, "no_session", "there is no session, or it has ended; sign in")
