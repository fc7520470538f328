"""Checks of a verb's output folder, before anything in it is overwritten."""

from pathlib import Path

from layoutray.errors import InputError
from layoutray.store import sources


def new_folder(folder: str | Path) -> str:
    """The absolute path or address of a folder that is new or empty. Raises InputError if it holds anything."""
    absolute = sources.absolute(str(folder))
    if next(sources.list_files(absolute), None) is not None:
        raise InputError(f"{folder} is not empty; give another folder, or delete it")
    return absolute
