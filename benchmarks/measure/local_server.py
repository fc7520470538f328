"""A server of a verb (`review`, `serve`) in a process of its own."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path

import httpx

from layoutray.errors import LayoutrayError

_START_SECONDS = 300
_STOP_SECONDS = 60


@contextlib.contextmanager
def started(verb: str, arguments: Sequence[str], path: str, log_file: Path) -> Generator[str]:
    """The URL of `layoutray VERB` with `--port`, once it answers at `path` with 200; it is stopped at the end.

    Raises:
        LayoutrayError: when it does not answer in time.
    """
    port = _free_port()
    command = [sys.executable, "-m", f"pipelines.{verb}", *arguments, "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with log_file.open("w", encoding="utf-8") as stream:
        server = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            _wait(server, url + path, log_file)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], url: str, log_file: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(url, timeout=5).status_code == 200:
                return
        time.sleep(0.5)
    raise LayoutrayError(f"{url} did not answer within {_START_SECONDS} seconds; see {log_file}")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
