"""A real HTTP server that receives webhooks."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(frozen=True)
class Received:
    """A request that has arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Attributes:
    url: of the server.
    statuses: of the next answers; the last one stays.
    headers: of the answers.
    seconds: until an answer.
    endless: whether an answer has a body that does not end.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    endless: bool = False
    received: list[Received] = field(default_factory=list[Received])

    def until(self, number: int, seconds: float = 20.0) -> Sequence[Received]:
        """The requests, once so many have arrived."""
        end = time.monotonic() + seconds
        while len(self.received) < number:
            assert time.monotonic() < end, f"{len(self.received)} of {number} requests have arrived"
            time.sleep(0.02)
        return self.received


@contextmanager
def receiving(host: str = "127.0.0.1") -> Iterator[Receiver]:
    """A receiver on the loopback interface while the block runs."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            time.sleep(receiver.seconds)
            self.send_response(receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0])
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()
            while receiver.endless:
                try:
                    self.wfile.write(bytes(2**16))
                except OSError:
                    return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    receiver.url = f"http://{host}:{server.server_port}/hook"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
