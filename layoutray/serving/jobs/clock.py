"""Unix time that does not jump when the system's clock is set."""

import time
from collections.abc import Callable


class SteadyClock:
    """Starts at the system's time, and goes on with a clock that nobody can set.

    Args:
        least: the latest time that an earlier process has stored. The clock starts at it if the system's time is
            earlier, so that stored times are never in the future.
        system: gives the system's time, in seconds since 1970.
    """

    def __init__(self, least: float, system: Callable[[], float] = time.time) -> None:
        self._start = max(system(), least)
        self._started = time.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return self._start + time.monotonic() - self._started
