"""Work of a model that ends early when nobody waits for it any more."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class InterruptedWorkError(Exception):
    """Nobody waits for this work any more."""


_INTERRUPTED: ContextVar[threading.Event | None] = ContextVar("interrupted", default=None)


@contextmanager
def interruptible() -> Generator[None]:
    """Interrupt the work that the `with` block has begun in a thread, once the task with the block is cancelled."""
    interrupted = threading.Event()
    token = _INTERRUPTED.set(interrupted)
    try:
        yield
    except asyncio.CancelledError:
        interrupted.set()
        raise
    finally:
        _INTERRUPTED.reset(token)


def check() -> None:
    """Raise InterruptedWorkError if this work was interrupted. Called before each forward pass."""
    interrupted = _INTERRUPTED.get()
    if interrupted and interrupted.is_set():
        raise InterruptedWorkError
