"""The folder in which a node keeps copies of remote content, of limited size: of ranges of files, and of whole folders.

All processes of a node share the copies. A new copy removes those that were used least recently. Copies of folders that
were used within the last hour stay, because a process may read them.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from layoutray.errors import InputError

FOLDER, GIBIBYTES = "LAYOUTRAY_CACHE", "LAYOUTRAY_CACHE_GIB"
"""Environment variables: folder of the copies, and the largest size of those of one kind."""
_DEFAULT_GIBIBYTES = 20.0
_IN_USE_SECONDS = 3600.0
"""A folder that was used within that time is not removed."""
HALF_MADE = ".tmp-"
"""First characters of the name of a copy that is being made or removed."""
_SLOWEST_SECONDS = 3600.0
"""What is half made, and has not changed for that long, is of a killed process."""
_SCANS_PER_LIMIT = 16
"""The size of the folder is measured each time that a process has added this fraction of the limit."""


class NodeCache:
    """Files in a folder. The files that were not used for the longest time are deleted first.

    A file may be deleted while a process has mapped it into memory: the mapping stays valid.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit`: of the size of all files, in bytes; exceeded by at most a sixteenth for each process."""
        self._folder, self._limit = folder, limit
        self._added = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_room(folder, limit)

    def file(self, key: str, fetch: Callable[[], bytes]) -> Path:
        """The file of `key`; `fetch` is called for its content if the node has no copy."""
        path = self._folder / hashlib.sha256(key.encode()).hexdigest()
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)
            return path
        content = fetch()
        hidden = self._folder / f"{HALF_MADE}{path.name}.{uuid.uuid4().hex}"
        hidden.write_bytes(content)
        hidden.rename(path)
        self._added += len(content)
        if self._added * _SCANS_PER_LIMIT > self._limit:
            self._added = 0
            make_room(self._folder, self._limit)
        return path


def make_room(folder: Path, limit: int, in_use: float = 0.0) -> None:
    """Remove the copies in `folder` that were used least recently, until the others fit into `limit` bytes.

    What killed processes have left half made is removed too.

    Args:
        in_use: copies that were used within so many seconds stay, whatever their size.
    """
    now, total = time.time(), 0
    for used, size, path in sorted(_copies(folder), reverse=True):
        total += size
        half_made = path.name.startswith(HALF_MADE)
        unused = now - used >= (_SLOWEST_SECONDS if half_made else in_use)
        if not unused or (total <= limit and not half_made):
            continue
        if path.is_dir():
            # Renamed at once, for processes that look it up.
            shutil.rmtree(path.rename(path.with_name(f"{HALF_MADE}{uuid.uuid4().hex}")))
        else:
            path.unlink(missing_ok=True)


def _copies(folder: Path) -> Generator[tuple[float, int, Path]]:
    """Time of the last use, size in bytes and path of each copy."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process may remove it too
                path, status = Path(entry.path), entry.stat()
                files = path.rglob("*") if entry.is_dir() else [path]
                yield status.st_mtime, sum(file.stat().st_size for file in files if file.is_file()), path


def root() -> Path:
    """The folder of everything that this node keeps: LAYOUTRAY_CACHE, by default `~/.cache/layoutray`."""
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache" / "layoutray").absolute()


def limit() -> int:
    """Largest size of the copies of one kind, in bytes. Raises InputError if the variable is no positive number."""
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


def local_copy(name: str, fetch: Callable[[Path], Path]) -> Path:
    """The local folder with the content that `name` identifies; it is fetched on the first call.

    Several processes may call this at once: one fetches, the others wait for it. A killed process leaves no incomplete
    copy.

    Args:
        name: of the copy, a file name. The same name always means the same content.
        fetch: writes the content into the given empty folder, and returns the folder below it that has the content.
    """
    models = root() / "models"
    folder = models / name
    if not folder.is_dir():
        models.mkdir(parents=True, exist_ok=True)
        with locked(models):
            if not folder.is_dir():
                with tempfile.TemporaryDirectory(prefix=HALF_MADE, dir=models) as scratch:
                    fetch(Path(scratch)).rename(folder)
                make_room(models, limit(), _IN_USE_SECONDS)
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
