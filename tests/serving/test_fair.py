"""Owners get fair shares: one that sends as much as it can does not slow the others down."""

import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from statistics import quantiles

from layoutray.serving.fair import FairQueue, FairShares

ONE = 1.0
ANY = float("inf")


def simulated(
    arrivals: list[tuple[float, str, float]],
    put: Callable[[str, int, float], None],
    pop: Callable[[], tuple[str, tuple[int, float]] | None],
) -> dict[str, list[float]]:
    """Times from arrival to end of pages at one reader.

    Args:
        arrivals: time, owner and seconds of each page.
    """
    events, at = deque(sorted(arrivals)), 0.0
    began: dict[int, float] = {}
    found: dict[str, list[float]] = {}
    numbers = count()
    while True:
        while events and events[0][0] <= at:
            time, owner, seconds = events.popleft()
            number = next(numbers)
            began[number] = time
            put(owner, number, seconds)
        taken = pop()
        if taken is None:
            if not events:
                return found
            at = events[0][0]
            continue
        owner, (number, seconds) = taken
        at += seconds
        found.setdefault(owner, []).append(at - began[number])


def pages(greedy: bool) -> list[tuple[float, str, float]]:
    """A page of `fair` every 10 seconds on average, and if wanted 200 pages of `greedy` every 100 seconds."""
    chance = random.Random(1)
    arrivals = [(at + chance.uniform(0, 9), "fair", chance.uniform(0.8, 1.2)) for at in range(0, 2000, 10)]
    if greedy:
        arrivals += [(at, "greedy", chance.uniform(0.5, 3.0)) for at in range(0, 2000, 100) for _ in range(200)]
    return arrivals


def fair(arrivals: list[tuple[float, str, float]]) -> list[float]:
    queue = FairQueue[tuple[int, float]]()
    return simulated(
        arrivals,
        lambda owner, number, seconds: queue.put(owner, number, (number, seconds)),
        lambda: queue.pop(lambda item: item[1], ANY),
    )["fair"]


def first_come(arrivals: list[tuple[float, str, float]]) -> list[float]:
    queue: list[tuple[int, str, float]] = []
    return simulated(
        arrivals,
        lambda owner, number, seconds: heapq.heappush(queue, (number, owner, seconds)),
        lambda: (lambda one: (one[1], (one[0], one[2])))(heapq.heappop(queue)) if queue else None,
    )["fair"]


def p95(times: list[float]) -> float:
    return quantiles(times, n=20)[-1]


def test_a_greedy_owner_delays_a_page_of_another_by_one_page_at_most() -> None:
    quiet, longest = p95(fair(pages(greedy=False))), 3.0
    assert p95(fair(pages(greedy=True))) <= 2 * quiet + longest
    assert p95(first_come(pages(greedy=True))) > 50 * quiet, "which it would in the order of arrival"


def test_owners_with_work_get_equal_shares_of_the_cost() -> None:
    queue, done = FairQueue[float](), {"a": 0.0, "b": 0.0, "c": 0.0}
    for number in range(1000):
        for owner, cost in (("a", 1.0), ("b", 5.0), ("c", 2.0)):
            queue.put(owner, number, cost)
    while sum(done.values()) < 900 and (found := queue.pop(float, ANY)):
        done[found[0]] += found[1]
    assert all(295 <= share <= 305 for share in done.values())


def test_nobody_saves_up_shares_while_idle() -> None:
    shares = FairShares()
    for _ in range(100):
        shares.begin("busy", ONE)
    turns = []
    for _ in range(10):
        (owner, _) = shares.order(["late", "busy"])
        shares.begin(owner, ONE)
        turns.append(owner)
    assert turns.count("late") in (5, 6)


def test_a_cost_that_is_known_later_counts() -> None:
    shares = FairShares()
    for owner in ("slow", "quick"):
        shares.begin(owner, ONE)
    shares.charge("slow", 10)
    turns = []
    for _ in range(10):
        (owner, _) = shares.order(["slow", "quick"])
        shares.begin(owner, ONE)
        turns.append(owner)
    assert turns == ["quick"] * 10


def test_documents_of_an_owner_take_turns() -> None:
    queue = FairQueue[str]()
    for document, items in (("long", "abcd"), ("short", "X"), ("other", "YZ")):
        for item in items:
            queue.put("", document, item)
    order = ""
    while found := queue.pop(lambda _: ONE, ANY):
        order += found[1]
    assert order == "aXYbZcd"


def test_an_item_that_costs_too_much_stays_first() -> None:
    queue = FairQueue[float]()
    queue.put("", 1, 5.0)
    queue.put("", 2, 1.0)
    assert queue.pop(float, 4.0) is None
    assert [queue.pop(float, 5.0), queue.pop(float, 5.0)] == [("", 5.0), ("", 1.0)]
