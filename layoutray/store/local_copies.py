"""Copies of remote folders on this machine's disk, shared by its processes.

They are in the node's cache folder (`store.node_cache`). Their size is limited: a new copy removes those that were used
least recently. Copies used within the last hour stay, because a process may read them.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from layoutray.store import node_cache

_IN_USE_SECONDS = 3600.0
_HALF_MADE = ".tmp-"


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
                with tempfile.TemporaryDirectory(prefix=_HALF_MADE, dir=root) as scratch:
                    fetch(Path(scratch)).rename(folder)
                _remove_least_used(root)
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


def _remove_least_used(root: Path) -> None:
    """Remove old copies until the others fit into the limit, and what killed processes have left half made."""
    newest_first = sorted(root.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    total, limit = 0, node_cache.limit()
    for folder in newest_first:
        total += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        unused = time.time() - folder.stat().st_mtime > _IN_USE_SECONDS
        if unused and (total > limit or folder.name.startswith(_HALF_MADE)):
            removed = folder.rename(root / f"{_HALF_MADE}{folder.name}")  # at once, for processes that look it up
            shutil.rmtree(removed)
