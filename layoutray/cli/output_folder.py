"""Checks of a verb's output folder, before anything in it is overwritten."""

import shutil
from pathlib import Path

from layoutray.errors import InputError

_DEMO = ".layoutray-demo"
"""File in the output folder of `layoutray demo`. Marks a folder that the next demo may delete."""


def require_empty(folder: Path) -> None:
    """Raise InputError if `folder` holds anything."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give another folder, or delete it")


def start_demo_folder(folder: Path) -> None:
    """Make `folder` an empty demo folder; whatever an earlier demo left in it is deleted.

    Raises:
        InputError: if `folder` holds anything that is not from a demo.
    """
    if not (folder / _DEMO).is_file():
        require_empty(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / _DEMO).touch()
