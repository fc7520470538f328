"""Local copies of parts of an object store. All processes of a node share them, and their size is limited."""

import contextlib
import hashlib
import os
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

from layoutray.errors import InputError

FOLDER, GIBIBYTES = "LAYOUTRAY_CACHE", "LAYOUTRAY_CACHE_GIB"
"""Environment variables: folder of the copies, and their largest size together."""
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


def of_this_node() -> NodeCache:
    """The cache in the folder that LAYOUTRAY_CACHE names, by default one of this user in the temporary folder.

    Raises:
        InputError: if the folder belongs to another user, or LAYOUTRAY_CACHE_GIB is no positive number.
    """
    folder = Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir(), f"layoutray-{os.getuid()}"))
    stated = os.environ.get(GIBIBYTES, str(_DEFAULT_GIBIBYTES))
    try:
        limit = float(stated)
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise InputError(f"{GIBIBYTES} is {stated!r}; it must be a positive number of gibibytes")
    cache = NodeCache(folder, int(limit * 2**30))
    if folder.stat().st_uid != os.getuid():
        raise InputError(f"the cache folder {folder} belongs to another user; set {FOLDER} to a folder of your own")
    return cache
