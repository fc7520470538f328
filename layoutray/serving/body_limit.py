"""The size of request bodies on every path, checked before a route or a check of a key reads them."""

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from layoutray.errors import ApiError
from layoutray.serving.failures import response
from layoutray.serving.limits import Limits
from layoutray.serving.submission import ENVELOPE_BYTES, media_type

_OTHER_BYTES = 64 * 1024
"""Of a body that no path takes."""
_JOBS = "/v1/jobs"


def most_bytes(scope: Scope, limits: Limits) -> int:
    """Bytes that the body of a request may have, by its path and type."""
    kind = media_type(Headers(scope=scope))
    if kind == "multipart/form-data":
        return limits.max_job_bytes if scope["path"] == _JOBS else limits.max_upload_bytes + ENVELOPE_BYTES
    return limits.max_upload_bytes if kind == "application/json" else _OTHER_BYTES


class BodyLimit:
    """ASGI middleware that answers 413 to a request whose body has more than the `most` bytes of its path and type."""

    def __init__(self, app: ASGIApp, most: Callable[[Scope], int]) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most(scope)
        received, answered = 0, False
        refusal = ApiError(413, "too_large", f"the body is larger than the limit of {most} bytes for its type")

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                return {"type": "http.disconnect"}
            return message

        async def send_noted(message: Message) -> None:
            nonlocal answered
            if answered or received <= most:  # else it is the answer of a part that has seen a cut body
                answered = True
                await send(message)

        declared = Headers(scope=scope).get("content-length", "")
        if not (declared.isdecimal() and int(declared) > most):
            try:
                await self._app(scope, receive_counted, send_noted)
            except Exception:
                if received <= most:
                    raise
            if answered or received <= most:
                return
        scope["state"]["error"] = refusal.code  # for the log of requests
        await response(refusal)(scope, receive, send)
