"""Messages between a process and its OCR child over a socket: a JSON header and raw bytes, no pickle."""

import json
import socket
import struct
import time
from typing import Any

from pydantic import TypeAdapter

from layoutray.ocr.page import RecognisedPage

_SIZES = struct.Struct(">IQ")  # bytes of the head, bytes of the body
_CHUNK = 1 << 20

Head = dict[str, Any]
PAGE = TypeAdapter(RecognisedPage)
"""Makes plain values for a message from a page, without loss of precision, and a page from them."""


class Channel:
    """One end of the socket. The deadline of an operation is in seconds from its start; None: no deadline."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, head: Head, body: bytes = b"", *, deadline: float | None = None) -> None:
        """Send a message. Raises TimeoutError, or OSError when the other end is closed."""
        encoded = json.dumps(head).encode()
        self._end.settimeout(deadline)
        self._end.sendall(_SIZES.pack(len(encoded), len(body)) + encoded)
        if body:
            self._end.sendall(body)

    def receive(self, *, deadline: float | None = None) -> tuple[Head, bytes]:
        """Receive a message. Raises TimeoutError, or EOFError or OSError when the other end is closed."""
        until = None if deadline is None else time.monotonic() + deadline
        head_size, body_size = _SIZES.unpack(self._receive_exactly(_SIZES.size, until))
        head = json.loads(self._receive_exactly(head_size, until))
        return head, self._receive_exactly(body_size, until)

    def close(self) -> None:
        self._end.close()

    def _receive_exactly(self, size: int, until: float | None) -> bytes:
        received = bytearray()
        while len(received) < size:
            if until is not None:
                # A timeout of 0 would mean non-blocking mode.
                self._end.settimeout(max(until - time.monotonic(), 1e-3))
            chunk = self._end.recv(min(size - len(received), _CHUNK))
            if not chunk:
                raise EOFError("the other end closed the channel")
            received += chunk
        return bytes(received)
