"""How much memory of Python a call needs at a time."""

import tracemalloc
from collections.abc import Callable


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes of Python objects that `call` holds at a time, besides what exists already."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
