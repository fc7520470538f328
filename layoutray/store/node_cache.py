"""Local copies of ranges of an object store's files. All processes of a node share them, and their size is limited."""

import contextlib
import hashlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from layoutray.errors import InputError

FOLDER, GIBIBYTES = "LAYOUTRAY_CACHE", "LAYOUTRAY_CACHE_GIB"
"""Environment variables: folder of the copies, and the largest size of those of one kind."""
_DEFAULT_GIBIBYTES = 20.0
_SCANS_PER_LIMIT = 16
"""The size of the folder is measured each time that a process has added this fraction of the limit."""


class NodeCache:
    """Files in a folder. The files that were not used for the longest time are deleted first.

    A file may be deleted while a process has mapped it into memory: the mapping stays valid.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        """
        Args:
            limit: of the size of all files, in bytes; exceeded by at most a sixteenth for each process.
        """
        self._folder, self._limit = folder, limit
        self._added = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._evict()

    def file(self, key: str, fetch: Callable[[], bytes]) -> Path:
        """The file of `key`; `fetch` is called for its content if the node has no copy."""
        path = self._folder / hashlib.sha256(key.encode()).hexdigest()
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)
            return path
        content = fetch()
        hidden = self._folder / f".{path.name}.{uuid.uuid4().hex}"
        hidden.write_bytes(content)
        hidden.rename(path)
        self._added += len(content)
        if self._added * _SCANS_PER_LIMIT > self._limit:
            self._added = 0
            self._evict()
        return path

    def _evict(self) -> None:
        files: list[tuple[float, int, str]] = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process may evict too
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
        size = sum(number for _, number, _ in files)
        for _, number, path in sorted(files):
            if size <= self._limit:
                return
            Path(path).unlink(missing_ok=True)
            size -= number


def root() -> Path:
    """The folder of everything that this node keeps: LAYOUTRAY_CACHE, by default `~/.cache/layoutray`."""
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache" / "layoutray").absolute()


def limit() -> int:
    """Largest size of the copies of one kind, in bytes.

    Raises:
        InputError: if LAYOUTRAY_CACHE_GIB is no positive number.
    """
    stated = os.environ.get(GIBIBYTES, str(_DEFAULT_GIBIBYTES))
    try:
        gibibytes = float(stated)
    except ValueError:
        gibibytes = 0.0
    if not gibibytes > 0:
        raise InputError(f"{GIBIBYTES} is {stated!r}; it must be a positive number of gibibytes")
    return int(gibibytes * 2**30)


def of_this_node() -> NodeCache:
    """The cache below `root`. Raises InputError as `limit`."""
    return NodeCache(root() / "ranges", limit())
