"""How much the replicas take at once."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from layoutray.serving.fair import FairQueue

_LOOK_SECONDS = 5.0
"""Time between two counts of the replicas. A count takes a tenth of a second of the ingress's processor time."""
_LATELY = 8
"""Weight of the mean of earlier places against the last one."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Capacity:
    """The replicas behind the ingress.

    Attributes:
        readers, models: how many there are, or, if their number may change, how many run now, at least 1: while none
            runs, what waits is for the one that is being started.
    """

    readers: int
    models: int
    batch_size: int

    def pages_in_ocr(self) -> int:
        """Pages at the readers: one more than readers, so that a reader that becomes free has its next page at once."""
        return self.readers + 1

    def batches(self) -> int:
        """Batches at the model replicas: one that runs and one that comes next at each."""
        return 2 * self.models

    async def follow(self, count: Callable[[], tuple[int, int]]) -> None:
        """Keep up to date, until cancelled, how many readers and model replicas run, which `count` gives."""
        while True:
            try:
                readers, models = await asyncio.to_thread(count)
                self.readers, self.models = max(readers, 1), max(models, 1)
            except Exception:
                _log.exception("the replicas cannot be counted; the former numbers stay")
            await asyncio.sleep(_LOOK_SECONDS)


class FairSlots:
    """Places that owners of documents share, see `fair`. Their number may change. The time of a place is its cost.

    Args:
        number: gives the number of places now.
    """

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number
        self._taken = 0
        self._queue = FairQueue[asyncio.Future[None]]()
        self._typical = 1.0
        """Mean of the seconds for which places were held lately: what a place costs until that is known."""

    @asynccontextmanager
    async def take(self, owner: str, document: Hashable) -> AsyncGenerator[None]:
        """Hold a place during the block; wait until it is the turn of the owner."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(owner, document, turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # both in one step of the loop
                self._give_back()
            raise
        began, charged = time.monotonic(), self._typical
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            self._typical += (seconds - self._typical) / _LATELY
            self._queue.charge(owner, seconds - charged)
            self._give_back()

    def _give(self) -> None:
        while self._taken < self._number() and (found := self._queue.pop(lambda _: self._typical, math.inf)):
            if not found[1].done():
                self._taken += 1
                found[1].set_result(None)
            else:
                self._queue.charge(found[0], -self._typical)

    def _give_back(self) -> None:
        self._taken -= 1
        self._give()
