"""Variables of the environment that a measurement needs, for itself and for what it starts."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager


@contextmanager
def environment(variables: Mapping[str, str]) -> Generator[None]:
    """`variables` while the block runs; then what was there before."""
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
