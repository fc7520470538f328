"""The log of the endpoint: lines of JSON, one for each request, each with the id of its request.

The listener takes the id of a request from the header `X-Request-Id`, which `proxy` checks, or makes one, as Serve's
proxy does. It returns the id in the same header, and Serve passes it to the readers and adds it to their lines. A model
batch has pages of several requests, and no id. No line has a word of a document or the name of a file.
"""

import logging
import time
from collections.abc import Mapping, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from layoutray.serving.failures import internal_error, log_failure, response

_HEADER = "x-request-id"
_CLIENT_GONE = 499
"""Status in the log when the client disconnects before the answer; it is never sent."""

_log = logging.getLogger(__name__)


def write_with_serve() -> None:
    """Write the log of this package, in a replica, to the handlers of Serve's log: a rotated file and stderr."""
    package = logging.getLogger("layoutray")
    package.handlers = logging.getLogger("ray.serve").handlers
    package.propagate = False
    package.setLevel(logging.INFO)


def request_id(headers: Mapping[str, str]) -> str:
    """The id of a request; empty if no listener has seen it."""
    return headers.get(_HEADER, "")


class RequestLog:
    """ASGI middleware that writes a line for each request, and answers one whose processing raised an exception."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        state: MutableMapping[str, Any] = scope.setdefault("state", {})

        async def send_noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except ClientDisconnect:  # during its upload: nobody is there to be answered
            pass
        except Exception as error:
            log_failure(_log, "a request failed", error)
            if status:  # the answer has begun: only its end can tell the client
                raise
            failure = internal_error()
            state["error"] = failure.code
            await response(failure)(scope, receive, send_noted)
        finally:
            _write(scope, state, status or _CLIENT_GONE, time.perf_counter() - started)


def _write(scope: Scope, state: Mapping[str, Any], status: int, seconds: float) -> None:
    route, caller = scope.get("route"), state.get("caller")
    about = {
        "method": scope["method"],
        "path": route.path if route else "",  # as declared: that of the request may hold anything
        "status": status,
        "milliseconds": round(seconds * 1000, 1),
        "key": caller.name if caller else "",
        "error": state.get("error", ""),
    }
    # Serve writes what has `log_to_stderr` as false to the file only.
    _log.info("%s %s %d", about["method"], about["path"], status, extra={**about, "log_to_stderr": False})
