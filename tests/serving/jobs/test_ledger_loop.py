"""The loop over a ledger ends when it is cancelled, whatever happens at the same time."""

import asyncio
from collections.abc import Collection, Hashable
from pathlib import Path

from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.ledger_loop import LedgerLoop


class Idle(LedgerLoop[object]):
    def take(self, started: Collection[Hashable]) -> None:
        return None

    async def process(self, item: object) -> None:
        raise AssertionError("there is nothing to process")

    def key(self, item: object) -> Hashable:
        return item


def test_a_loop_that_is_told_of_something_new_while_it_is_cancelled_ends(tmp_path: Path) -> None:
    ledger = Ledger.open(str(tmp_path / "jobs.db"))

    async def cancelled() -> bool:
        loop = Idle(ledger.database, lambda: 1, 0.0)
        task = asyncio.create_task(loop.run())
        await asyncio.sleep(0.1)
        loop.hint()
        await asyncio.sleep(0)  # the hint has arrived, and the loop has not gone on
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=3)
        task.cancel()
        return bool(done)

    assert asyncio.run(cancelled())
    ledger.close()
