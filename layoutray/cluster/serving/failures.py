"""Why a request gets no answer, and how that is said over HTTP. Nothing internal goes into a message."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from layoutray.answers import Problem
from layoutray.cluster.serving.schema import ErrorAnswer, ErrorDetail
from layoutray.errors import DocumentError, Reason

UNAVAILABLE = "unavailable"
"""Code of a page or request whose replica is gone; another one is being started."""

_RETRY_AFTER_SECONDS = 2
_UNUSABLE = 422
"""Status where the bytes themselves are at fault: all reasons that are not in the table."""
_STATUSES = {
    Reason.UNSUPPORTED_TYPE: 415,
    Reason.TOO_LARGE: 413,
    Reason.TIMEOUT: 504,
    Reason.INTERNAL: 500,
    UNAVAILABLE: 503,
}
_CODES = {400: "malformed_request", 404: "not_found", 405: "method_not_allowed"}
_MEANINGS = {
    400: "no file, or a body that cannot be parsed",
    404: "the model that is served answers at another path, see /v1/models",
    413: "larger, or more pages, than allowed",
    415: "not a PNG, JPEG, TIFF, PDF or JSON",
    422: "empty, damaged or encrypted file; words or boxes that make no page",
    500: "a fault of the service",
    503: "overloaded; try again after the seconds in Retry-After",
    504: "not done in time",
}


class ApiError(Exception):
    """Ends a request with `status` and a body that says `code`, message and whether the same request may succeed later."""

    def __init__(self, status: int, code: str, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retryable = retryable

    def response(self) -> JSONResponse:
        detail = ErrorDetail(code=self.code, message=str(self), retryable=self.retryable)
        headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)} if self.status == 503 else None
        return JSONResponse(ErrorAnswer(error=detail).model_dump(), self.status, headers)


def documented() -> dict[int | str, dict[str, Any]]:
    """The error answers, for the OpenAPI document."""
    return {status: {"model": ErrorAnswer, "description": meaning} for status, meaning in _MEANINGS.items()}


def of_problem(problem: Problem) -> ApiError:
    """The failure of a request that this problem leaves nothing of."""
    return ApiError(_STATUSES.get(problem.code, _UNUSABLE), problem.code, problem.message, retryable=problem.retryable)


def problem_of(error: DocumentError, page_number: int | None = None) -> Problem:
    """The same as a plain value, which crosses processes whole."""
    return Problem(error.reason.value, error.stage, str(error), error.retryable, page_number)


def invalid(message: str) -> ApiError:
    """A request whose parts do not make sense."""
    return ApiError(_UNUSABLE, "invalid_request", message, retryable=False)


def invalid_fields(errors: Sequence[Any]) -> ApiError:
    """As pydantic found them; names the first few by their place, e.g. `pages.0.words.3.box`, and not their values."""
    named = [f"{'.'.join(map(str, error['loc'])) or 'body'}: {error['msg']}" for error in errors]
    more = f" (and {len(named) - 5} more)" if len(named) > 5 else ""
    return invalid("; ".join(named[:5]) + more)


def handle_failures(api: FastAPI) -> None:
    """Make every error of `api` come in our shape, the framework's own included."""

    @api.exception_handler(ApiError)
    async def failed(_: Request, failure: ApiError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return failure.response()

    @api.exception_handler(RequestValidationError)
    async def not_valid(_: Request, error: RequestValidationError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return invalid_fields(error.errors()).response()

    @api.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return of_http(error).response()


def of_http(error: HTTPException) -> ApiError:
    """The framework's own refusals, such as an unknown path or a multipart body cut short."""
    return ApiError(error.status_code, _CODES.get(error.status_code, "refused"), error.detail, retryable=False)
