"""Prepare the next items in a thread while the caller works on the last one."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")

_AHEAD = 2
"""Items that are prepared in advance. They are in memory, so more would only take room."""


def prefetched(make: Callable[[Key], Item], keys: Iterable[Key]) -> Generator[Item]:
    """`make(key)` of each key, in order. One thread makes the items, so that `make` need not be thread-safe.

    An exception of `make` is raised when its item is due. Close the generator to end the thread early.
    """
    waiting: deque[Future[Item]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        try:
            for key in keys:
                waiting.append(thread.submit(make, key))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            thread.shutdown(wait=False, cancel_futures=True)
