"""The review page, for an application of FastAPI: the page itself, and the routes that it calls."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from layoutray.errors import ApiError, DocumentError
from layoutray.review.drift import ReviewDrift
from layoutray.review.pictures import PagePictures
from layoutray.review.promise import AnsweredBy, newest
from layoutray.review.questions import Questions
from layoutray.review.routes import Answer, Routes
from layoutray.review.sessions import SESSION_PATH, Sessions
from layoutray.review.store import ReviewStore
from layoutray.store.database import DatabaseError

_log = logging.getLogger(__name__)
_PAGE = Path(__file__).parent / "page"
_MOST_BYTES = 8 * 2**20
"""Of a body of JSON."""
_MOST_BYTES_OF_KEY = 64 * 1024
"""Of that with which people sign in."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def add_review_page(
    api: FastAPI,
    store: ReviewStore,
    sessions: Sessions,
    answer: Answer | None = None,
    commands: Sequence[str] = (),
    answered_by: Callable[[], AnsweredBy | None] | None = None,
) -> None:
    """Add the page to `api`, at `/`, and all that it asks for, below `/review`.

    Args:
        answer: answers an uploaded document; None where nothing can be uploaded.
        commands: what to run to train on the corrections, for people.
        answered_by: gives the model of which promises and changes are shown; None: the one that answered the last
            document.
    """
    app = _Mounted(openapi_url=None, redirect_slashes=False)
    app.middleware("http")(partial(_guarded, sessions))
    for kind in (ApiError, HTTPException, RequestValidationError, DocumentError, DatabaseError):
        app.add_exception_handler(kind, _refused)
    model = answered_by or partial(newest, store)
    Routes(
        store=store,
        sessions=sessions,
        answer=answer,
        answered_by=model,
        questions=Questions(store),
        changes=ReviewDrift(store, model),
        pictures=PagePictures(store),
        commands=commands,
    ).add_to(app)
    app.mount("/page", StaticFiles(directory=_PAGE))
    api.add_api_route("/", _page, methods=["GET"], include_in_schema=False, response_model=None)
    api.mount("/review", app)


class _Mounted(FastAPI):
    """An application whose unexpected errors are answered and logged by the one that it is mounted in."""

    def build_middleware_stack(self) -> ASGIApp:
        stack = super().build_middleware_stack()
        assert isinstance(stack, ServerErrorMiddleware)
        return stack.app


def _page() -> FileResponse:
    """The page; its modules ask for everything else."""
    return FileResponse(_PAGE / "index.html", headers=_HEADERS | {"Cache-Control": "no-cache"})


async def _guarded(
    sessions: Sessions, request: Request, following: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Refuse large bodies of JSON, and any body without a session; add headers that keep other sites and scripts away.

    FastAPI reads the whole body before the dependencies of a route, which check the session, run.
    """
    is_json = request.headers.get("content-type", "").startswith("application/json")
    size = request.headers.get("content-length", "")
    signs_in = request.url.path.endswith(SESSION_PATH)
    most = _MOST_BYTES_OF_KEY if signs_in else _MOST_BYTES
    if is_json and not (size.isdecimal() and int(size) <= most):
        message = f"the body has {size or 'an unknown number of'} bytes; at most {most} are allowed"
        return _response(ApiError(413, "too_large", message))
    if request.method in ("POST", "PUT") and not signs_in:
        try:
            await sessions.found(request)
        except ApiError as error:
            return _response(error)
    response = await following(request)
    response.headers.update(_HEADERS)
    # Browsers ask whether a file of the page has changed, so that page and server always fit together.
    is_data = response.headers.get("content-type", "").startswith("application/")
    response.headers.setdefault("Cache-Control", "no-store" if is_data else "no-cache")
    return response


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, HTTPException):
        error = ApiError(error.status_code, "not_found" if error.status_code == 404 else "refused", error.detail)
    elif isinstance(error, RequestValidationError):
        places = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
        error = ApiError(422, "invalid_request", "; ".join(places))
    elif isinstance(error, DatabaseError):
        _log.error("the review file cannot be used: %s", error)
        error = error.response("review file")
    elif not isinstance(error, ApiError):
        error = ApiError(404, "not_found", str(error))
    request.state.error = error.code  # for the log of requests
    return _response(error)


def _response(error: ApiError) -> JSONResponse:
    return JSONResponse(error.body(), error.status, error.headers)
