"""The loop over a ledger ends when it is cancelled, whatever happens at the same time."""

import asyncio
from collections.abc import Collection, Hashable

from layoutray.serving.jobs.ledger_loop import LedgerLoop


def test_a_loop_that_is_told_of_something_new_while_it_is_cancelled_ends() -> None:
    async def nothing(_: Collection[Hashable]) -> None:
        return None

    async def process(_: object) -> None:
        raise AssertionError("there is nothing to process")

    async def cancelled() -> bool:
        loop = LedgerLoop[object](lambda: 1, nothing, process, hash, 0.0)
        task = asyncio.create_task(loop.run())
        await asyncio.sleep(0.05)
        loop.hint()
        await asyncio.sleep(0)  # the hint has arrived, and the loop has not gone on
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=3)
        task.cancel()
        return bool(done)

    assert asyncio.run(cancelled())
