"""Items are prepared in advance, in order, and an error is raised when its item is due."""

import threading

import pytest

from layoutray.training.prefetch import prefetched


def test_items_come_in_order_from_another_thread() -> None:
    made = list(prefetched(lambda key: (key, threading.current_thread() is threading.main_thread()), range(9)))
    assert made == [(key, False) for key in range(9)]
    assert list(prefetched(str, [])) == []


def test_the_next_items_are_made_while_the_caller_works() -> None:
    second = threading.Event()
    items = prefetched(lambda key: second.set() if key == 1 else None, range(3))
    next(items)
    assert second.wait(10)


def test_an_error_is_raised_when_its_item_is_due() -> None:
    items = prefetched(lambda key: 1 // (2 - key), range(5))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)


def test_a_closed_generator_makes_no_more_items() -> None:
    made: list[int] = []
    items = prefetched(made.append, range(1000))
    next(items)
    items.close()
    assert len(made) < 10
