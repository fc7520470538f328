"""A small HTTP server in place of MLflow's, which tells the truth, lies, is slow, or is down."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = Callable[[str, dict[str, str]], Any]
"""Gives what is sent for a path and its query: bytes, or what becomes JSON. None closes the connection, NotImplemented
lets the registry answer."""


@dataclass
class LyingRegistry:
    """A registry with one model, `forms`, whose alias `champion` names `version`.

    Attributes:
        sources: where each version lies.
        lie: answers instead of the registry, unless it is None.
        listed: paths of artifacts that it was asked for.
    """

    url: str = ""
    version: Any = "1"
    sources: dict[str, str] = field(default_factory=dict[str, str])
    lie: Answer | None = None
    listed: list[str] = field(default_factory=list[str])

    def answer(self, path: str, query: dict[str, str]) -> Any:
        if path == "/health":
            return b"OK"
        if self.lie and (said := self.lie(path, query)) is not NotImplemented:
            return said
        if path.endswith("/get-download-uri"):
            return {"artifact_uri": self.sources[query["version"]]}
        version = {"name": "forms", "version": self.version, "source": "x"}
        return {"model_version": version, "registered_model": {"name": "forms"}}


@contextmanager
def lying_registry() -> Iterator[LyingRegistry]:
    registry = LyingRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            said = registry.answer(place.path, {name: one[0] for name, one in parse_qs(place.query).items()})
            if said is None:
                return
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
