"""One command at a time for an output folder.

The lock is held by the operating system and ends with the process, however that ends. It holds between the processes
of a user on one machine, for local folders and for addresses. Commands on two machines do not see each other: object
stores have no lock that ends with a process.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from layoutray.errors import InputError
from layoutray.store import node_cache, sources


@contextmanager
def working_on(folder: str) -> Generator[None]:
    """Raise InputError if another command works on `folder`, a path or address; else let none begin in this block."""
    local = sources.local_path(folder)
    identity = str(local.resolve()) if local else folder.rstrip("/")
    locks = node_cache.root() / "locks"
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = locks / hashlib.sha256(os.fsencode(identity)).hexdigest()
    descriptor = _locked(file)
    if descriptor is None:
        raise InputError(
            f"another command is working on {folder} (process {_process(file)}); wait until it has ended, or give "
            "another --out"
        )
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(file: Path) -> int | None:
    """A descriptor of the locked file; None if another process has locked it."""
    while True:
        descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The process that held the lock may have removed the file meanwhile; then this one locks nothing.
            if _is_at(descriptor, file):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.close(descriptor)


def _is_at(descriptor: int, file: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), file.stat())
    return False


def _process(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text() or "unknown"
    return "unknown"
