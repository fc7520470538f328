"""What an attack does to others: the latency of `/livez`, and the memory of the endpoint's processes."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import httpx
import psutil

_EVERY_SECONDS = 0.1


class Watch:
    """Figures of the time since the start.

    Attributes:
        latency: slowest answer of `/livez`, in seconds.
        growth: largest growth of the resident memory of all processes of Serve together, in bytes.
    """

    def __init__(self) -> None:
        self.latency = 0.0
        self.growth = 0
        self._first = memory()
        assert self._first, "no process of Serve was found, so nothing would be measured"

    def look(self, client: httpx.Client) -> None:
        started = time.perf_counter()
        assert client.get("/livez").status_code == 200
        self.latency = max(self.latency, time.perf_counter() - started)
        self.growth = max(self.growth, memory() - self._first)


@contextmanager
def watched(url: str) -> Generator[Watch]:
    """Look every tenth of a second until the block ends. A failure of `/livez` is raised at its end."""
    seen, ended, problems = Watch(), threading.Event(), list[Exception]()

    def look() -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            looking = True
            while looking:
                try:
                    seen.look(client)
                except (httpx.HTTPError, AssertionError) as problem:
                    problems.append(problem)
                looking = not ended.wait(_EVERY_SECONDS)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
    assert not problems, problems


def memory() -> int:
    """Resident bytes of the processes of Serve."""
    total = 0
    for process in psutil.process_iter(["cmdline"]):
        if any("ServeReplica" in part for part in process.info["cmdline"] or ()):
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    return total
