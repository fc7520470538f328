"""The check of headers, before any other part reads them: in our listener, and in the HTTP proxies of Serve."""

import re

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from layoutray.errors import ApiError
from layoutray.serving.failures import response

MOST_HEADER_BYTES = 64 * 1024
"""Of the address and the headers of a request."""
_REQUEST_ID = re.compile(r"[!-~]{1,128}")


def middlewares() -> list[Middleware]:
    """The middleware of each proxy. `RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH` of the cluster names this function."""
    return [Middleware(HeaderCheck)]


class HeaderCheck:
    """ASGI middleware that refuses a request with 431 if its headers are too large, and with 400 if one is not valid.

    A header is valid in UTF-8, and an `X-Request-Id` if it is an id.

    Serve decodes headers as UTF-8 and answers 500 if it cannot. It returns and logs `X-Request-Id` as it is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope) if scope["type"] == "http" else None
        await (response(refusal) if refusal else self._app)(scope, receive, send)


def _refusal(scope: Scope) -> ApiError | None:
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    if size + sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADER_BYTES:
        return headers_too_large()
    for name, value in scope["headers"]:
        try:
            value.decode()
        except UnicodeDecodeError:
            return _malformed(f"the header {name.decode('latin-1')} is not UTF-8; send ASCII or UTF-8")
    given = Headers(scope=scope).get("x-request-id")
    if given is not None and not _REQUEST_ID.fullmatch(given):
        return _malformed(
            f"the header X-Request-Id has {len(given)} characters; it must have 1 to 128 printable characters of "
            "ASCII without blanks; leave it out to get one"
        )
    return None


def headers_too_large() -> ApiError:
    """The refusal of a request."""
    message = f"the address and the headers have more than {MOST_HEADER_BYTES} bytes; send fewer or shorter headers"
    return ApiError(431, "too_large", message)


def _malformed(message: str) -> ApiError:
    return ApiError(400, "malformed_request", message)
