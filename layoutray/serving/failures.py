"""Failed requests: error type, HTTP status and response body. No message contains internal details."""

import asyncio
import errno
import logging
import traceback
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from logging import Logger
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route

from layoutray.document.answers import Problem
from layoutray.errors import ApiError, DocumentError, Reason
from layoutray.serving.schema import ErrorResponse
from layoutray.store.database import DatabaseError, no_space

Result = TypeVar("Result")

UNAVAILABLE = "unavailable"
"""Error code when a replica has died; Ray Serve starts another."""

_MAX_CAUSES = 8
_UNUSABLE = 422
"""HTTP status of every reason that `_STATUSES` does not list: the document itself is unusable.

Those of `RETRYABLE` are listed, with a status from 500: the document is not the cause, and a job tries it again.
"""
_STATUSES = {
    Reason.UNSUPPORTED_TYPE: 415,
    Reason.TOO_LARGE: 413,
    Reason.TIMEOUT: 504,
    Reason.INTERNAL: 500,
    Reason.UNREACHABLE: 503,
    Reason.WORKER_CRASH: 503,
    Reason.OUT_OF_MEMORY: 503,
    UNAVAILABLE: 503,
}
_CODES = {400: "malformed_request", 404: "not_found", 405: "method_not_allowed"}
_MEANINGS = {
    400: ("no file, or a body that cannot be parsed", "no_file"),
    401: ("no valid key; only at an endpoint with keys, as 403 and 429", "invalid_key"),
    403: ("the key lacks the scope that the path needs, or the prefix is not allowed", "missing_scope"),
    404: ("unknown path or model, or the model answers at another path: see /v1/models", "not_offered"),
    409: ("the Idempotency-Key was used for another job; only at /v1/jobs", "idempotency_conflict"),
    413: ("too large or too many pages", "too_large"),
    415: ("not a PNG, JPEG, TIFF, PDF or JSON", "unsupported_type"),
    422: ("empty, damaged or encrypted file; invalid words or boxes", "unreadable"),
    429: ("more requests or pages than the key allows; try again after the seconds in Retry-After", "rate_limited"),
    500: ("internal error", "internal"),
    503: (
        "overloaded, not ready, out of disk space, or a model that cannot be loaded; try again after the seconds in "
        "Retry-After, if there is that header",
        "overloaded",
    ),
    504: ("timeout", "timeout"),
}
"""What a status means, and one of its error codes."""


_log = logging.getLogger(__name__)


def error_responses() -> dict[int | str, dict[str, Any]]:
    """The error responses for the OpenAPI document, by HTTP status."""
    responses: dict[int | str, dict[str, Any]] = {}
    for status, (meaning, code) in _MEANINGS.items():
        example = ApiError(status, code, meaning, retryable=status in (429, 500, 503, 504)).body()
        content = {"application/json": {"example": example}}
        responses[status] = {"model": ErrorResponse, "description": meaning, "content": content}
    return responses


def response(error: ApiError) -> JSONResponse:
    """The error response."""
    return JSONResponse(error.body(), error.status, error.headers)


def error_of(failure: Problem | DocumentError) -> ApiError:
    """The error response to a request that failed because of a document or one of its pages."""
    problem = problem_of(failure) if isinstance(failure, DocumentError) else failure
    return ApiError(_STATUSES.get(problem.code, _UNUSABLE), problem.code, problem.message, retryable=problem.retryable)


def problem_of(error: DocumentError, page_number: int | None = None) -> Problem:
    """`error` as a plain value that can be sent between processes."""
    return Problem(
        code=error.reason.value,
        stage=error.stage,
        message=str(error),
        retryable=error.retryable,
        page_number=page_number,
    )


def internal_error() -> ApiError:
    """The error response to a request whose processing raised an unexpected exception."""
    return ApiError(500, Reason.INTERNAL, "internal error; see the log of the endpoint", retryable=True)


def invalid(message: str) -> ApiError:
    """The error response to a request with invalid content."""
    return ApiError(_UNUSABLE, "invalid_request", message)


def invalid_fields(errors: Sequence[Any]) -> ApiError:
    """The error response to validation errors of pydantic: the paths of the first five, without values."""
    messages = [f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}" for error in errors]
    more = f" (and {len(messages) - 5} more)" if len(messages) > 5 else ""
    return invalid("; ".join(messages[:5]) + more)


def handle_failures(api: FastAPI) -> None:
    """Return every error of `api`, including the framework's own, as an ErrorResponse."""
    handlers: dict[type[Exception], Callable[[Any], ApiError]] = {
        ApiError: lambda error: error,
        RequestValidationError: lambda error: invalid_fields(error.errors()),
        HTTPException: _error_of_framework,
    }
    for kind, to_api_error in handlers.items():
        api.add_exception_handler(kind, partial(_respond, to_api_error))


def _error_of_framework(error: HTTPException) -> ApiError:
    """The error response to e.g. an unknown path or a truncated multipart body."""
    code = _CODES.get(error.status_code, "refused")
    return ApiError(error.status_code, code, error.detail, headers=error.headers)


async def _respond(to_api_error: Callable[[Any], ApiError], request: Request, error: Exception) -> JSONResponse:
    failure = to_api_error(error)
    if failure.status == 405:
        # The error of the framework has the methods of one route of the path only.
        routes = [route for route in request.app.routes if isinstance(route, Route)]
        fitting = [route for route in routes if route.matches(request.scope)[0] != Match.NONE]
        failure.headers["Allow"] = ", ".join(sorted({method for route in fitting for method in route.methods or ()}))
    request.state.error = failure.code  # for the log of requests
    return response(failure)


@asynccontextmanager
async def within(
    seconds: float, what: str = "the document", remedy: str = "send fewer pages or try again later"
) -> AsyncGenerator[None]:
    """Raise ApiError 504 after `seconds`, and 500 for an unexpected exception, which goes to the log only.

    Args:
        what: took longer.
        remedy: what to do then.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        message = f"{what} took longer than {seconds:g} s; {remedy}"
        raise ApiError(504, "timeout", message, retryable=True) from error
    except (ApiError, ClientDisconnect):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space() from error
        log_failure(_log, "a request failed", error)
        raise internal_error() from error


async def in_database(name: str, work: Callable[..., Result], *arguments: Any) -> Result:
    """Use the database called `name` in a thread. Raises ApiError (503) when that fails now, e.g. with a full disk."""
    try:
        return await asyncio.to_thread(work, *arguments)
    except DatabaseError as error:
        _log.error("the %s cannot be used: %s", name, error)
        raise error.response(name) from error


def log_failure(log: Logger, what: str, error: BaseException) -> None:
    """Log an unexpected exception with its place in the code, without its message, which may quote the document."""
    causes: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < _MAX_CAUSES:
        causes.append(f"{type(cause).__qualname__}\n{''.join(traceback.format_tb(cause.__traceback__))}")
        cause = cause.__cause__ or cause.__context__
    log.error("%s: %s", what, "caused by ".join(causes))
