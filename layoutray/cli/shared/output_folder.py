"""Checks of a verb's folders, before any work, and before anything is overwritten."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from layoutray.errors import InputError
from layoutray.store import folder_kind, sources
from layoutray.store.output_lock import working_on


def existing(source: str | Path) -> str:
    """The absolute path or address of a file or folder. Raises InputError if a path does not exist."""
    absolute = sources.absolute(str(source))
    local = sources.local_path(absolute)
    if local is None:
        sources.check_address(absolute)
    elif not local.exists():
        raise InputError(f"{source} does not exist; give a file or folder that does, or an s3:// address")
    return absolute


def usable(folder: str | Path, kind: str = "") -> str:
    """The absolute path or address of a folder that can be written: it may exist, or not.

    Args:
        kind: what the folder will be, see `folder_kind`; empty if it may be of any kind.

    Raises:
        InputError: if the folder is a file, cannot be made or written, or is of another kind.
    """
    absolute = sources.absolute(str(folder))
    local = sources.local_path(absolute)
    if local is None:
        sources.check_address(absolute)
        return absolute
    nearest = next(one for one in (local, *local.parents) if one.exists())
    if not nearest.is_dir():
        below = "" if nearest == local else f"{folder} cannot be made, because "
        raise InputError(f"{below}{nearest} is a file; give another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{folder} cannot be written: {nearest} belongs to others; give another folder")
    found = folder_kind.kind_of(local)
    if kind and found not in ("", kind):
        raise InputError(f"{folder} is {found}, and this command writes {kind}; give another folder")
    return absolute


@contextmanager
def new_folder(folder: str | Path) -> Generator[str]:
    """A new or empty folder, absolute and locked. Raises InputError if it holds anything, or a command works on it."""
    absolute = usable(folder)
    with working_on(absolute):
        if next(sources.list_files(absolute), None) is not None:
            raise InputError(f"{folder} is not empty; give another folder, or delete it")
        yield absolute
