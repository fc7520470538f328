"""A reporter that sends metrics to a server in a thread, so that neither its latency nor an outage stops a training."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

_EVERY = 2.0
"""Seconds between two calls of the server."""
_PATIENCE = 30.0
"""Seconds that a training waits for the server after it has saved a state."""
_LARGEST = 1000
"""Measurements of one call; MLflow's limit."""

_logger = logging.getLogger(__name__)


class Measurement(NamedTuple):
    """The value of a metric after a step, and when it was measured, in milliseconds since 1970."""

    name: str
    value: float
    step: int
    time: int


class BackgroundReporter:
    """Sends metrics in order, each step once. While the server cannot be reached, they wait in memory.

    Args:
        last_steps: the last step of each metric that the server has: after a recovery some steps are trained again.
        send: sends measurements to the server.
    """

    def __init__(
        self, last_steps: Callable[[], Mapping[str, int]], send: Callable[[Sequence[Measurement]], None]
    ) -> None:
        self._last_steps, self._send = last_steps, send
        self._known: Mapping[str, int] | None = None
        self._waiting: list[Measurement] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._latest = self._thread.submit(lambda: True)
        self._sent = time.monotonic()

    def start(self, step: int, steps: int) -> None:
        """Nothing to send before the first step."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time_ns() // 1_000_000
        self._waiting += [Measurement(name, float(value), step, now) for name, value in values.items()]
        if time.monotonic() - self._sent > _EVERY and self._latest.done():
            self._submit()

    def saved(self, step: int, folder: Path | None) -> None:
        """Send everything before the state: those steps are never trained again."""
        self.flush()

    def flush(self) -> None:
        """Send all measurements, and wait until they have arrived, unless the last call has failed."""
        reached = not self._latest.done() or self._latest.result()
        self._submit()
        wait([self._latest], _PATIENCE if reached else 0)

    def _submit(self) -> None:
        self._sent = time.monotonic()
        self._latest = self._thread.submit(self._send_waiting)

    def _send_waiting(self) -> bool:
        """Whether everything could be sent."""
        try:
            if self._known is None:
                self._known = self._last_steps()
            while part := self._waiting[:_LARGEST]:
                self._send([one for one in part if one.step > self._known.get(one.name, -1)])
                del self._waiting[: len(part)]
        except Exception as error:  # a client of a server raises many kinds; none may end a training
            # The message may contain a password.
            _logger.warning("metrics wait, as their server cannot be reached (%s)", type(error).__name__)
            return False
        return True
