"""The HTTP server in an ingress replica.

Serve's own proxy is another process: it passes on each request in a call of Ray, which costs as much time as a small
model on a page. `layoutray serve` starts no proxy. A Serve configuration file, as on Kubernetes, has proxies.
"""

import asyncio
import errno
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from layoutray.cluster import ray_internals
from layoutray.cluster.endpoint.connections import LimitedConnection, look_at
from layoutray.cluster.endpoint.proxy import HeaderCheck
from layoutray.errors import InputError

_HEADER = "X-Request-Id"
_BACKLOG = 2048
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_KEEP_ALIVE_SECONDS = 90
"""An idle connection is closed after this time, as by Serve's proxy."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def require_free(self) -> None:
        """Raise InputError when another program listens there, or the address is not one of this machine."""
        try:
            for one in self._sockets(socket.SO_REUSEADDR):
                one.close()
        except OSError as error:
            raise InputError(
                f"the endpoint cannot listen on {self.host}:{self.port} ({error}); stop the program that does, or give "
                "another --host or --port"
            ) from error

    def listen(self) -> list[socket.socket]:
        """Sockets that share the port with those of an ingress that Serve is about to stop."""
        return self._sockets(socket.SO_REUSEADDR, socket.SO_REUSEPORT)

    def _sockets(self, *options: int) -> list[socket.socket]:
        """A socket for each address of the host that the machine has. Raises OSError when one is taken, or none is."""
        found: list[socket.socket] = []
        missing = OSError(errno.EADDRNOTAVAIL, "it has no address")
        # asyncio sends at once (TCP_NODELAY) only if the socket has the number of the protocol.
        for family, kind, protocol, _, address in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
            try:
                found.append(_bound(socket.socket(family, kind, protocol), address, options))
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    for one in found:
                        one.close()
                    raise
                missing = error
        if not found:
            raise missing
        return found


def _bound(listening: socket.socket, address: Any, options: Sequence[int]) -> socket.socket:
    try:
        for option in options:
            listening.setsockopt(socket.SOL_SOCKET, option, 1)
        if listening.family == socket.AF_INET6:  # IPv4 has a socket of its own
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


@asynccontextmanager
async def listening(app: ASGIApp, address: Address) -> AsyncGenerator[None]:
    """Answer requests at `address` during the `with` block. At its end, requests that have begun are answered first."""
    checked = HeaderCheck(RequestIds(StopsWithClient(app)))
    server = uvicorn.Server(
        uvicorn.Config(
            checked,
            http=LimitedConnection,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
    )
    task = asyncio.create_task(server.serve(sockets=address.listen()))
    looking = asyncio.create_task(look_at(server.server_state.connections))
    try:
        yield
    finally:
        server.should_exit = True
        await task
        looking.cancel()


class RequestIds:
    """ASGI middleware that gives each request an id, as Serve's proxy does: in headers, logs and calls of replicas."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get(_HEADER)
        request_id = given or str(uuid.uuid4())
        if not given:
            scope["headers"] = [*scope["headers"], (_HEADER.lower().encode(), request_id.encode())]
        ray_internals.set_request_id(request_id)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[_HEADER] = request_id
            await send(message)

        await self._app(scope, receive, send_named)


class StopsWithClient:
    """ASGI middleware that cancels a request when its client has gone, as Serve's proxy does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(receive, send)
        answering = asyncio.ensure_future(self._app(scope, exchange.receive, exchange.send))
        exchange.when_gone = answering.cancel
        try:
            await answering
        except asyncio.CancelledError:
            if not exchange.gone:  # the server stops
                raise


class _Exchange:
    """One request and its answer. Looks for the end of the connection as soon as the whole request was received."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._watch: asyncio.Task[Message] | None = None
        self._answered = False
        self.gone = False
        self.when_gone: Callable[[], object] = lambda: None

    async def receive(self) -> Message:
        if self._watch:
            return await asyncio.shield(self._watch)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            self._watch = asyncio.create_task(self._until_gone())
        return message

    async def send(self, message: Message) -> None:
        self._answered |= message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def _until_gone(self) -> Message:
        message = await self._receive()  # returns when the connection ends, and after the answer
        if not self._answered:
            self.gone = True
            self.when_gone()
        return message
