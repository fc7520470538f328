"""Environment variables for a measurement and the processes that it starts."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager


@contextmanager
def environment(variables: Mapping[str, str]) -> Generator[None]:
    """Set `variables` during the block, and restore the previous values after it."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
