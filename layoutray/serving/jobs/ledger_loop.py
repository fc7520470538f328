"""Process what a ledger has, several things at once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

from layoutray.serving.jobs.database_server import DATABASE_ERRORS

Item = TypeVar("Item")

_LOOK_SECONDS = 1.0
"""How often the ledger is looked at when nobody has said that there is something new."""

_log = logging.getLogger(__name__)


class LedgerLoop(Generic[Item]):
    """Takes items from a ledger and processes them.

    Args:
        at_once: gives the number of items that may be in progress.
        take: gives the next item, except those with the keys that are in progress; None if there is none.
        process: processes an item. Like `take`, it may raise one of DATABASE_ERRORS, e.g. because a disk is full.
        key: of an item.
        pause_s: seconds for which the key of an item stays in progress after such an error.
    """

    def __init__(
        self,
        at_once: Callable[[], int],
        take: Callable[[Collection[Hashable]], Awaitable[Item | None]],
        process: Callable[[Item], Awaitable[None]],
        key: Callable[[Item], Hashable],
        pause_s: float,
    ) -> None:
        self._take = take
        self._process = process
        self._key = key
        self._pause_seconds = pause_s
        self._at_once = at_once
        self._started: dict[Hashable, asyncio.Task[None]] = {}
        self._hint = asyncio.Event()

    def hint(self) -> None:
        """Say that the ledger has something new. Without it, the loop finds that itself, a second later."""
        self._hint.set()

    async def run(self) -> None:
        """Process items until cancelled."""
        try:
            while True:
                item = await self._next()
                if item is None:
                    await self._wait()
                else:
                    self._started[self._key(item)] = asyncio.create_task(self._run(item))
        finally:
            for task in self._started.values():
                task.cancel()

    async def _next(self) -> Item | None:
        """The next item; None if there is none, or if enough are in progress."""
        if len(self._started) >= self._at_once():
            return None
        try:
            return await self._take(frozenset(self._started))
        except DATABASE_ERRORS as error:
            _log.error("the job ledger cannot be read: %s", error)
            return None

    async def _wait(self) -> None:
        # Not `wait_for`, which in Python 3.11 forgets a cancellation that comes together with the hint.
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._hint.wait()
        self._hint.clear()

    async def _run(self, item: Item) -> None:
        try:
            await self._process(item)
        except DATABASE_ERRORS as error:
            _log.error("the job ledger cannot be written: %s", error)
            await asyncio.sleep(self._pause_seconds)
        finally:
            del self._started[self._key(item)]
            self.hint()
