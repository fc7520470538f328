"""Limits of connections, before any part of the endpoint sees a request: their number, headers, time and speed.

One loop looks at all connections every second, so that a request costs no timer.
"""

import asyncio
import resource
from collections.abc import Collection
from http import HTTPStatus
from typing import Any, ClassVar, Literal

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from layoutray.cluster.endpoint.proxy import MOST_HEADER_BYTES, headers_too_large
from layoutray.errors import ApiError
from layoutray.serving.failures import response

MOST_CONNECTIONS = 1000
_FILES_FOR_OTHERS = 256
"""Files that the process may open besides connections."""
_MOST_PIPELINED = 16
HEADER_SECONDS = 20.0
"""Time for the headers of a request, and of a new connection for its first one."""
LEAST_BYTES_PER_SECOND = 1024
"""Speed of a body, averaged from 20 seconds after its begin. A client that waits for the endpoint loses no time."""
_LINGER_SECONDS = 30.0
"""Time in which the rest of a body is read and dropped after the answer, so that the client sees it, as nginx does."""
_UNREAD_SECONDS = 60.0
"""Time in which a client must read a part of an answer."""
_LOOK_SECONDS = 1.0


class LimitedConnection(HttpToolsProtocol):
    """A connection that closes itself when its client exceeds a limit."""

    _idle: ClassVar[dict["LimitedConnection", None]] = {}
    """All connections of this process without a request, the one that has had none for the longest time first."""
    _awaits: Literal["headers", "body", ""] = "headers"
    """What the client has to send next; nothing after a whole request."""
    _waited = 0.0
    """Seconds for which the client was waited for."""
    _head = 0
    """Bytes that are no body, since the last part of a body or the end of the last request."""
    _body = 0
    _unread = 0
    _unread_seconds = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._note_idle()
        if len(self.connections) > most_connections():
            self._make_room()

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > MOST_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(headers_too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await("headers")

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_PIPELINED:
            raise httptools.HttpParserError(f"more than {_MOST_PIPELINED} requests wait in the connection")
        super().on_headers_complete()
        self._await("body")
        self._note_idle()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._head = 0
        self._body += len(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._await("")
        self._note_idle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._idle.pop(self, None)

    def _await(self, what: Literal["headers", "body", ""]) -> None:
        self._awaits, self._waited, self._body = what, 0.0, 0
        if what != "headers":
            self._head = 0

    def look(self) -> None:
        """Close the connection if its client is too slow. Called every `_LOOK_SECONDS`."""
        self._look_at_unread()
        if self.transport.is_closing() or self.flow.read_paused or not (self._awaits or self._head):
            return  # the endpoint is busy, or the connection is kept for its next request
        self._waited += _LOOK_SECONDS
        if self._awaits != "body":
            if self._waited > HEADER_SECONDS:
                self._refuse(_too_slow(f"the headers did not come within {HEADER_SECONDS:g} s"))
        elif self.cycle.response_complete:
            if self._waited > _LINGER_SECONDS:
                self.transport.abort()
        elif self._waited > HEADER_SECONDS + self._body / LEAST_BYTES_PER_SECOND:
            self._refuse(_too_slow(f"the body came with less than {LEAST_BYTES_PER_SECOND} bytes per second"))

    def _look_at_unread(self) -> None:
        """Close the connection if the client does not read its answer."""
        unread = self.transport.get_write_buffer_size()
        self._unread_seconds = self._unread_seconds + _LOOK_SECONDS if unread and unread == self._unread else 0.0
        self._unread = unread
        if self._unread_seconds > _UNREAD_SECONDS:
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its next request, or this one if all are busy."""
        oldest = next(iter(self._idle))
        del self._idle[oldest]
        if oldest is not self:
            oldest.transport.abort()
        else:
            message = f"{len(self.connections) - 1} connections are open; try again later"
            self._refuse(ApiError(503, "overloaded", message, retryable=True))

    def _note_idle(self) -> None:
        cycle = self._cycle()
        self._idle.pop(self, None)
        if self._awaits != "body" and (cycle is None or cycle.response_complete):
            self._idle[self] = None

    def _cycle(self) -> RequestResponseCycle | None:
        """The last request whose headers were received; None before the first one."""
        return self.cycle

    def _refuse(self, error: ApiError) -> None:
        """Answer with an error, unless another answer has begun, and close the connection."""
        cycle = self._cycle()
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = bytes(response(error).body)
            head = f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\nContent-Type: application/json\r\n"
            self.transport.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()


def _too_slow(message: str) -> ApiError:
    return ApiError(408, "timeout", f"{message}; send it faster", retryable=True)


def most_connections() -> int:
    """How many connections there may be, within the number of files that the process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(min(MOST_CONNECTIONS, files - _FILES_FOR_OTHERS), 1)


async def look_at(connections: Collection[Any]) -> None:
    """Look at connections every second, until cancelled."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        for connection in tuple(connections):
            connection.look()
