"""The check of a server without keys: its requests come from this machine, and not from a page of another site.

Browsers send requests to 127.0.0.1 for every site. `Origin` names the site of the page that sends one. A site can also
let its own name resolve to 127.0.0.1 (DNS rebinding): `Host` then names that site.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from layoutray.errors import ApiError


class LocalOnly:
    """ASGI middleware that refuses requests whose `Host` is not this machine, or whose `Origin` is another server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        answer = JSONResponse(refusal.body(), refusal.status) if refusal else self._app
        await answer(scope, receive, send)


def is_this_machine(host: str) -> bool:
    """Whether `host`, without a port, is `localhost` or a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refusal(headers: Headers) -> ApiError | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_this_machine(_name(f"//{host}")):
        message = (
            f"the header Host is {host!r:.80}; a server without keys answers at 127.0.0.1 and localhost only; "
            "start it with keys to use another name"
        )
        return ApiError(400, "malformed_request", message)
    if origin is not None and origin.partition("://")[2] != host:
        message = f"the request comes from a page of {origin!r:.80}; a server without keys takes none of other sites"
        return ApiError(403, "foreign_origin", message)
    return None


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
