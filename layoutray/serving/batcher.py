"""Batches of what has come while the model was busy. Nothing waits while it is idle."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Passes items on in batches. A batch takes what waits when it begins.

    Args:
        run: gives the result of each item of a batch, in order.
        most: items of a batch.
        at_once: gives the number of batches that may run at the same time.
    """

    def __init__(
        self, run: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], most: int, at_once: Callable[[], int]
    ) -> None:
        self._run = run
        self._most = most
        self._at_once = at_once
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: set[asyncio.Task[None] | None] = set()

    async def __call__(self, item: Item) -> Result:
        """The result of an item. Raises the exception of its batch. An item whose caller is cancelled is not run."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if len(self._running) < self._at_once():
            # In a context of its own: Serve cancels what was called in that of a request whose client has gone.
            context = contextvars.Context()
            self._running.add(asyncio.create_task(self._run_batches(), context=context))
        return await result

    async def _run_batches(self) -> None:
        """Run batches until nothing waits."""
        while batch := self._next():
            try:
                results = await self._run([item for item, _ in batch])
            except Exception as error:
                for _, result in batch:
                    if not result.done():
                        result.set_exception(error)
                continue
            for (_, result), value in zip(batch, results, strict=True):
                if not result.done():
                    result.set_result(value)
        self._running.discard(asyncio.current_task())  # at once: the next item needs another task

    def _next(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        batch: list[tuple[Item, asyncio.Future[Result]]] = []
        while self._waiting and len(batch) < self._most:
            item, result = self._waiting.popleft()
            if not result.done():
                batch.append((item, result))
        return batch
