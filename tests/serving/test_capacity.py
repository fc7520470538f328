"""Replicas come and go: what may be at them at once follows their number."""

import asyncio
from contextlib import ExitStack, suppress

import pytest

from layoutray.errors import ApiError, InputError
from layoutray.serving.capacity import Capacity, FairSlots
from layoutray.serving.limits import Admission
from layoutray.serving.settings import Scaling


def test_places_that_come_later_are_used() -> None:
    async def check() -> None:
        places, inside, most = 1, 0, []

        async def work() -> None:
            nonlocal inside
            async with slots.take("", None):
                inside += 1
                most.append(inside)
                await asyncio.sleep(0.01)
                inside -= 1

        slots = FairSlots(lambda: places)
        tasks = [asyncio.create_task(work()) for _ in range(12)]
        await asyncio.sleep(0.025)
        assert max(most) == 1
        places = 3
        await asyncio.gather(*tasks)
        assert max(most) == 3
        assert len(most) == 12

    asyncio.run(check())


def test_a_place_whose_holder_is_cancelled_is_free() -> None:
    async def check() -> None:
        slots = FairSlots(lambda: 1)

        async def hold() -> None:
            async with slots.take("", None):
                await asyncio.sleep(60)

        held, waiting = asyncio.create_task(hold()), asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiting.cancel()
        held.cancel()
        await asyncio.wait([held, waiting])
        async with asyncio.timeout(5), slots.take("", None):
            pass

    asyncio.run(check())


def test_the_numbers_are_those_that_run_and_stay_while_nobody_knows_them(caplog: pytest.LogCaptureFixture) -> None:
    capacity, counts = Capacity(1, 1, 8), [(0, 2), (3, 2)]

    async def check() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await capacity.follow(counts.pop)
        assert (capacity.pages_in_ocr(), capacity.batches()) == (4, 4)
        for _ in range(2):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await capacity.follow(counts.pop)
        assert (capacity.readers, capacity.models) == (1, 2), "one is being started"

    asyncio.run(check())
    assert "the former numbers stay" in caplog.text


def test_documents_in_flight_are_bounded_by_the_replicas_that_run() -> None:
    capacity = Capacity(1, 1, 8)
    admission = Admission(lambda: capacity.readers)
    with admission.enter():
        with pytest.raises(ApiError, match="1 documents are in flight; at most 1"), admission.enter():
            pass
        capacity.readers = 2
        with admission.enter():
            pass


def test_a_key_that_sends_as_much_as_it_can_leaves_places_for_others() -> None:
    admission = Admission(lambda: 9)
    with ExitStack() as places:

        def most(owner: str) -> int:
            for number in range(10):
                try:
                    places.enter_context(admission.enter(owner))
                except ApiError:
                    return number
            return 10

        assert [most("greedy"), most("second"), most("third")] == [5, 2, 1]
        with pytest.raises(ApiError, match="5 documents of key greedy are in flight, and 1 places are left") as refusal:
            places.enter_context(admission.enter("greedy"))
        assert (refusal.value.status, refusal.value.code) == (503, "overloaded")
    with ExitStack() as places:
        for _ in range(9):
            places.enter_context(admission.enter())
        with pytest.raises(ApiError, match="9 documents are in flight"):
            places.enter_context(admission.enter())


def test_a_place_is_given_in_turn_and_its_time_is_charged() -> None:
    async def check() -> None:
        order: list[str] = []
        slots = FairSlots(lambda: 1)

        async def work(owner: str, seconds: float) -> None:
            async with slots.take(owner, None):
                order.append(owner)
                await asyncio.sleep(seconds)

        tasks = [asyncio.create_task(work("greedy", 0.1)) for _ in range(4)]
        await asyncio.sleep(0.01)
        tasks += [asyncio.create_task(work("other", 0.01)) for _ in range(3)]
        await asyncio.gather(*tasks)
        assert order == ["greedy", *["other"] * 3, *["greedy"] * 3]

    asyncio.run(check())


def test_an_endpoint_that_stops_answers_what_is_in_flight_and_refuses_the_rest() -> None:
    async def check() -> None:
        admission = Admission(lambda: 9)
        with admission.enter():
            drained = asyncio.create_task(admission.drain())
            await asyncio.sleep(0.1)
            assert not drained.done()
            with pytest.raises(ApiError) as refusal, admission.enter():
                pass
            assert (refusal.value.status, refusal.value.code) == (503, "stopping")
            assert "Retry-After" in refusal.value.headers
        async with asyncio.timeout(5):
            await drained

    asyncio.run(check())


def test_times_of_scaling_are_positive() -> None:
    with pytest.raises(InputError, match="fewer_after_s is -1"):
        Scaling(fewer_after_s=-1)
    with pytest.raises(InputError, match="look_back_s is 1; it must be more than 1 seconds"):
        Scaling(look_back_s=1)
