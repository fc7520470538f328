"""Routes: sign in, sign out, and who is signed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, FastAPI, Request, Response

from layoutray.errors import ApiError
from layoutray.review.schema import SignIn
from layoutray.review.sessions import COOKIE, Session, Sessions

_PATH = "/session"
_COOKIE_PATH = "/review"


@dataclass(frozen=True, slots=True)
class SessionRoutes:
    """The routes of sessions.

    Attributes:
        uploads: whether documents can be uploaded.
        commands: what to run to train on the corrections.
    """

    sessions: Sessions
    uploads: bool
    commands: Sequence[str]

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route(_PATH, self.session, methods=["GET"])
        app.add_api_route(_PATH, self.sign_in, methods=["POST"])
        app.add_api_route(_PATH, self.sign_out, methods=["DELETE"], dependencies=[Depends(self.sessions.changing)])

    async def session(self, request: Request) -> dict[str, Any]:
        """Who is signed in, and the token for changes."""
        try:
            session = await self.sessions.of(request.cookies.get(COOKIE, ""), None)
        except ApiError:
            return {"signed_in": False, "needs_key": self.sessions.authenticator.needs_key}
        return self._shown(session)

    async def sign_in(self, request: Request, response: Response, body: SignIn) -> dict[str, Any]:
        """Begin a session. FastAPI refuses bodies that are not declared as JSON, which forms of other sites send."""
        cookie, session = await self.sessions.begin(body.key, body.reviewer)
        over_tls = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
        response.set_cookie(COOKIE, cookie, path=_COOKIE_PATH, httponly=True, samesite="strict", secure=over_tls)
        return self._shown(session)

    async def sign_out(self, request: Request, response: Response) -> dict[str, Any]:
        """End the session."""
        await self.sessions.end(request.cookies.get(COOKIE, ""))
        response.delete_cookie(COOKIE, path=_COOKIE_PATH)
        return {"signed_in": False, "needs_key": self.sessions.authenticator.needs_key}

    def _shown(self, session: Session) -> dict[str, Any]:
        return {
            "signed_in": True,
            "needs_key": self.sessions.authenticator.needs_key,
            "reviewer": session.reviewer,
            "token": session.token,
            "uploads": self.uploads,
            "commands": list(self.commands),
        }
