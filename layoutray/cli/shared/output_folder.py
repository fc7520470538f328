"""Checks of a verb's output folder, before anything in it is overwritten."""

import shutil
from pathlib import Path

from layoutray.errors import InputError
from layoutray.store import sources

DEMO_MARKER = ".layoutray-demo"
"""File in the output folder of `layoutray demo`. The demo deletes no folder without this file."""


def new_folder(folder: str | Path) -> str:
    """The absolute path or address of a folder that is new or empty. Raises InputError if it holds anything."""
    absolute = sources.absolute(str(folder))
    if next(sources.list_files(absolute), None) is not None:
        raise InputError(f"{folder} is not empty; give another folder, or delete it")
    return absolute


def start_demo_folder(folder: Path) -> None:
    """Make `folder` an empty folder with the demo's marker file.

    Raises:
        InputError: if `folder` is a file, or holds files and no marker of a former demo. Nothing is deleted then.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose a folder with --out")
    content = list(folder.iterdir()) if folder.is_dir() else []
    if content and not (folder / DEMO_MARKER).is_file():
        raise InputError(
            f"{folder} is not empty and was not made by the demo (it has no file {DEMO_MARKER}); "
            "choose a new folder with --out, or delete this one yourself"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DEMO_MARKER).write_text("`layoutray demo` made this folder and empties it when it runs again.\n")
    for path in content:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != DEMO_MARKER:
            path.unlink()
