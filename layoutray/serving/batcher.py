"""Batches of what has come while the model was busy. Nothing waits while it is idle."""

import asyncio
import contextvars
import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from layoutray.serving.fair import FairQueue

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(kw_only=True)
class Batcher(Generic[Item, Result]):
    """Passes items on in batches. A batch takes what waits when it begins, in fair order over owners (see `fair`).

    Attributes:
        run: gives the result of each item of a batch, in order. It is cancelled when nobody waits for one of them.
        most: items of a batch.
        most_cost: of a batch of several items.
        at_once: gives the number of batches that may run at the same time. Together they cost at most `most_cost` for
            each, so that the next item waits for one large item rather than for several.
    """

    run: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]
    cost: Callable[[Item], float]
    most: int
    most_cost: float
    at_once: Callable[[], int]

    def __post_init__(self) -> None:
        self._waiting = FairQueue[tuple[Item, asyncio.Future[Result]]]()
        self._running: set[asyncio.Task[None] | None] = set()
        self._running_cost = 0.0

    async def __call__(self, item: Item, owner: str = "", document: Hashable = None) -> Result:
        """The result of an item. Raises the exception of its batch. An item whose caller is cancelled is not run."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.put(owner, document, (item, result))
        if len(self._running) < self.at_once():
            # In a context of its own: Serve cancels what was called in that of a request whose client has gone.
            context = contextvars.Context()
            self._running.add(asyncio.create_task(self._run_batches(), context=context))
        return await result

    async def _run_batches(self) -> None:
        while batch := self._next():
            cost = sum(self.cost(item) for item, _ in batch)
            self._running_cost += cost
            await self._run_batch(batch)
            self._running_cost -= cost
        self._running.discard(asyncio.current_task())  # at once: the next item needs another task

    async def _run_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        running = asyncio.ensure_future(self.run([item for item, _ in batch]))  # noqa: RUF006  (is awaited below)
        results = [result for _, result in batch]

        def stop_without_callers(_: object) -> None:
            if all(result.done() for result in results):
                running.cancel()

        for result in results:
            result.add_done_callback(stop_without_callers)
        await asyncio.wait([running])  # unlike `await running`, it does not cancel this task with the batch
        if running.cancelled():
            return
        if error := running.exception():
            for result in results:
                if not result.done():
                    result.set_exception(error)
            return
        for result, value in zip(results, running.result(), strict=True):
            if not result.done():
                result.set_result(value)

    def _next(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        batch: list[tuple[Item, asyncio.Future[Result]]] = []
        left = self.at_once() * self.most_cost - self._running_cost if self._running_cost else math.inf
        while len(batch) < self.most and (found := self._waiting.pop(self._cost_of, left)):
            if not found[1][1].done():
                batch.append(found[1])
                left = min(left, self.most_cost) - self.cost(found[1][0])
        return batch

    def _cost_of(self, waiting: tuple[Item, asyncio.Future[Result]]) -> float:
        """Nothing for an item whose caller has gone."""
        item, result = waiting
        return 0.0 if result.done() else self.cost(item)
