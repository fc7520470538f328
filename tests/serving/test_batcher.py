"""Batches take what waits; nothing waits while nothing runs."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import pytest

from layoutray.serving.batcher import Batcher


class Squares:
    """Squares numbers. A batch ends when the test lets it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = asyncio.Semaphore(0)

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        async with asyncio.timeout(30):
            await self.go.acquire()
        if 13 in numbers:
            raise ValueError("13")
        return [number * number for number in numbers]


@pytest.fixture
def squares() -> Squares:
    return Squares()


def release(squares: Squares, batches: int) -> None:
    for _ in range(batches):
        squares.go.release()


async def begun(squares: Squares, batches: int) -> None:
    async with asyncio.timeout(30):
        while len(squares.batches) < batches:
            await asyncio.sleep(0.001)


def test_the_first_item_is_alone_and_those_that_come_meanwhile_share_batches(squares: Squares) -> None:
    async def ask() -> list[int]:
        batcher = Batcher(run=squares, cost=lambda _: 1, most=3, most_cost=100, at_once=lambda: 1)
        first = asyncio.ensure_future(batcher(1))
        await begun(squares, 1)
        others = [asyncio.ensure_future(batcher(number)) for number in (2, 3, 4, 5)]
        release(squares, 3)
        return await asyncio.gather(first, *others)

    assert asyncio.run(ask()) == [1, 4, 9, 16, 25]
    assert squares.batches == [[1], [2, 3, 4], [5]]


def test_batches_at_the_same_time_cost_no_more_than_they_may_unless_one_runs_alone(squares: Squares) -> None:
    async def ask() -> list[int]:
        batcher = Batcher(run=squares, cost=float, most=8, most_cost=5, at_once=lambda: 2)
        asked = [asyncio.ensure_future(batcher(number)) for number in (9, 7, 2, 1)]
        await begun(squares, 1)
        await asyncio.sleep(0.01)
        assert squares.batches == [[9]]
        release(squares, 3)
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == [81, 49, 4, 1]
    assert squares.batches == [[9], [7], [2, 1]]


def test_items_that_come_together_share_a_batch_and_a_later_one_is_not_forgotten(squares: Squares) -> None:
    async def ask() -> list[int]:
        batcher = Batcher(run=squares, cost=lambda _: 1, most=8, most_cost=100, at_once=lambda: 1)
        release(squares, 2)
        together = await asyncio.gather(*map(batcher, (1, 2, 3)))
        return [*together, await batcher(4)]

    assert asyncio.run(ask()) == [1, 4, 9, 16]
    assert squares.batches == [[1, 2, 3], [4]]


def test_an_item_whose_caller_has_gone_is_not_run(squares: Squares) -> None:
    async def ask() -> int:
        batcher = Batcher(run=squares, cost=lambda _: 1, most=8, most_cost=100, at_once=lambda: 1)
        first = asyncio.ensure_future(batcher(1))
        await begun(squares, 1)
        gone, stays = (asyncio.ensure_future(batcher(number)) for number in (2, 3))
        await asyncio.sleep(0)
        gone.cancel()
        first.cancel()  # it runs already; its result is for nobody
        release(squares, 2)
        return await stays

    assert asyncio.run(ask()) == 9
    assert squares.batches == [[1], [3]]


def test_as_many_batches_run_at_once_as_are_allowed(squares: Squares) -> None:
    async def ask() -> list[int]:
        batcher = Batcher(run=squares, cost=lambda _: 1, most=8, most_cost=100, at_once=lambda: 2)
        asked = []
        for number in (1, 2):
            asked.append(asyncio.ensure_future(batcher(number)))
            await begun(squares, number)
        asked += [asyncio.ensure_future(batcher(number)) for number in (3, 4)]
        await asyncio.sleep(0)
        assert len(squares.batches) == 2
        release(squares, 3)
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == [1, 4, 9, 16]
    assert squares.batches == [[1], [2], [3, 4]]


def test_a_batch_that_fails_fails_alone(squares: Squares) -> None:
    async def ask() -> int:
        batcher = Batcher(run=squares, cost=lambda _: 1, most=1, most_cost=100, at_once=lambda: 1)
        release(squares, 2)
        failing, other = asyncio.ensure_future(batcher(13)), asyncio.ensure_future(batcher(2))
        with pytest.raises(ValueError, match="13"):
            await failing
        return await other

    assert asyncio.run(ask()) == 4


def test_a_batch_does_not_run_in_the_context_of_a_request() -> None:
    name = ContextVar("name", default="")
    seen: list[str] = []

    async def run(numbers: Sequence[int]) -> Sequence[int]:
        seen.append(name.get())
        return numbers

    async def ask() -> int:
        name.set("of the first request")
        return await Batcher(run=run, cost=lambda _: 1, most=8, most_cost=100, at_once=lambda: 1)(7)

    assert asyncio.run(ask()) == 7
    assert seen == [""]


def test_a_batch_is_cancelled_once_nobody_waits_for_it() -> None:
    async def ask() -> int:
        stopped: list[Sequence[int]] = []

        async def run(numbers: Sequence[int]) -> Sequence[int]:
            try:
                await asyncio.sleep(60 if 1 in numbers else 0)
            except asyncio.CancelledError:
                stopped.append(numbers)
                raise
            return numbers

        batcher = Batcher(run=run, cost=lambda _: 1, most=2, most_cost=100, at_once=lambda: 1)
        gone = [asyncio.ensure_future(batcher(number)) for number in (1, 2)]
        stays = asyncio.ensure_future(batcher(3))
        await asyncio.sleep(0.01)
        gone[0].cancel()
        await asyncio.sleep(0.01)
        assert stopped == [], "one waits still"
        gone[1].cancel()
        async with asyncio.timeout(30):
            result = await stays
        assert stopped == [[1, 2]]
        return result

    assert asyncio.run(ask()) == 3


def test_a_costly_item_shares_no_batch_and_owners_take_turns(squares: Squares) -> None:
    async def ask() -> list[int]:
        batcher = Batcher(run=squares, cost=float, most=3, most_cost=10, at_once=lambda: 1)
        first = asyncio.ensure_future(batcher(1, "greedy"))
        await begun(squares, 1)
        greedy = [asyncio.ensure_future(batcher(number, "greedy", number)) for number in (50, 4, 5)]
        other = asyncio.ensure_future(batcher(2, "other"))
        release(squares, 9)
        return await asyncio.gather(first, *greedy, other)

    assert asyncio.run(ask()) == [1, 2500, 16, 25, 4]
    assert squares.batches == [[1], [2], [50], [4, 5]]
