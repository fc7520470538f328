"""Copies of remote folders on this machine's disk, shared by its processes.

They are in the node's cache folder (`store.node_cache`). Their size is limited: a new copy removes those that were used
least recently. Copies used within the last hour stay, because a process may read them.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from layoutray.store import node_cache

_IN_USE_SECONDS = 3600.0


def local_copy(name: str, fetch: Callable[[Path], Path]) -> Path:
    """The local folder with the content that `name` identifies; it is fetched on the first call.

    Several processes may call this at once: one fetches, the others wait for it. A killed process leaves no incomplete
    copy.

    Args:
        name: of the copy, a file name. The same name always means the same content.
        fetch: writes the content into the given empty folder, and returns the folder below it that has the content.
    """
    root = node_cache.root() / "models"
    folder = root / name
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        with locked(root):
            if not folder.is_dir():
                with tempfile.TemporaryDirectory(prefix=node_cache.HALF_MADE, dir=root) as scratch:
                    fetch(Path(scratch)).rename(folder)
                node_cache.make_room(root, node_cache.limit(), _IN_USE_SECONDS)
    os.utime(folder)
    return folder


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Let one process of this machine at a time into the block. The lock leaves no file behind."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
