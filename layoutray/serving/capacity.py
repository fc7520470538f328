"""How much the replicas take at once."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

_LOOK_SECONDS = 5.0
"""Time between two counts of the replicas. A count takes a tenth of a second of the ingress's processor time."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Capacity:
    """The replicas behind the ingress.

    Attributes:
        readers, models: how many there are, or, if their number may change, how many run now, at least 1: while none
            runs, what waits is for the one that is being started.
        batch_size: most pages of a model batch.
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
        """Keep the numbers of replicas up to date until cancelled.

        Args:
            count: gives the numbers of readers and model replicas that run.
        """
        while True:
            try:
                readers, models = await asyncio.to_thread(count)
                self.readers, self.models = max(readers, 1), max(models, 1)
            except Exception:
                _log.exception("the replicas cannot be counted; the former numbers stay")
            await asyncio.sleep(_LOOK_SECONDS)


class Slots:
    """Places, whose number may change.

    Args:
        number: gives the number of places now.
    """

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number
        self._taken = 0
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[None]:
        """Hold a place during the block; wait until there is one."""
        while self._taken >= self._number():
            self._given_back.clear()
            await self._given_back.wait()
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._given_back.set()
