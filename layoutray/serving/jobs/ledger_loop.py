"""Process what a ledger has, several things at once."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from layoutray.store.database import Database, DatabaseError

Item = TypeVar("Item")

_LOOK_SECONDS = 1.0
"""How often the ledger is looked at when nobody has said that there is something new."""

_log = logging.getLogger(__name__)


class LedgerLoop(ABC, Generic[Item]):
    """Takes items from a ledger and processes them, while this process has claimed the ledger.

    Args:
        at_once: gives the number of items that may be in progress.
        pause_s: seconds for which the key of an item stays in progress when the ledger cannot be used.
    """

    def __init__(self, database: Database, at_once: Callable[[], int], pause_s: float) -> None:
        self._database = database
        self._at_once = at_once
        self._pause_seconds = pause_s
        self._started: dict[Hashable, asyncio.Task[None]] = {}
        self._hint = asyncio.Event()

    @abstractmethod
    def take(self, started: Collection[Any]) -> Item | None:
        """The next item, except those with the keys `started`; None if there is none. Called in a thread."""

    @abstractmethod
    async def process(self, item: Item) -> None:
        """Process an item. Like `take`, it may raise DatabaseError, e.g. because a disk is full."""

    @abstractmethod
    def key(self, item: Item) -> Hashable: ...

    def hint(self) -> None:
        """Say that the ledger has something new. Without it, the loop finds that itself, a second later."""
        self._hint.set()

    async def run(self) -> None:
        try:
            while True:
                item = await self._next()
                if item is not None:
                    self._started[self.key(item)] = asyncio.create_task(self._run(item))
                    continue
                # Not `wait_for`, which in Python 3.11 forgets a cancellation that comes together with the hint.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._hint.wait()
                self._hint.clear()
        finally:
            for task in self._started.values():
                task.cancel()

    async def _next(self) -> Item | None:
        """The next item; None if there is none, if enough are in progress, or if another process has the claim."""
        if len(self._started) >= self._at_once():
            return None
        try:
            if await asyncio.to_thread(self._database.claim):
                return await asyncio.to_thread(self.take, frozenset(self._started))
        except DatabaseError as error:
            _log.error("the job ledger cannot be read: %s", error)
        return None

    async def _run(self, item: Item) -> None:
        try:
            await self.process(item)
        except DatabaseError as error:
            _log.error("the job ledger cannot be written: %s", error)
            await asyncio.sleep(self._pause_seconds)
        finally:
            del self._started[self.key(item)]
            self.hint()
