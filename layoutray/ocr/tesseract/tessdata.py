"""Location and hash of Tesseract's language data."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from layoutray.errors import MissingDependencyError

_USUAL_FOLDERS = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)


def find_folder(language: str) -> Path:
    """The first folder with the data of all languages in `language` (codes joined by `+`).

    Searches TESSDATA_PREFIX, the usual folders of distributions, and the folder that the `tesseract` program reports.

    Raises:
        MissingDependencyError: when no folder has it; says what to install.
    """
    searched: list[str] = []
    for folder in _candidates():
        if all((folder / f"{code}.traineddata").is_file() for code in language.split("+")):
            return folder
        searched.append(str(folder))
    packages = " ".join(f"tesseract-ocr-{code.replace('_', '-')}" for code in language.split("+"))
    raise MissingDependencyError(
        f"no Tesseract language data for {language!r} in {', '.join(searched)}; "
        f"run `apt-get install tesseract-ocr {packages}`, "
        "or set TESSDATA_PREFIX to the folder of the .traineddata files"
    )


@functools.cache
def fingerprint(folder: Path, language: str) -> str:
    """Start of the SHA-256 of each .traineddata file, e.g. `eng:1a2b3c4d5e6f`, joined by `+`."""
    parts: list[str] = []
    for code in language.split("+"):
        with (folder / f"{code}.traineddata").open("rb") as file:
            parts.append(f"{code}:{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}")
    return "+".join(parts)


def _candidates() -> Iterator[Path]:
    if prefix := os.environ.get("TESSDATA_PREFIX"):
        yield Path(prefix)
        yield Path(prefix, "tessdata")
    yield from map(Path, _USUAL_FOLDERS)
    if program := shutil.which("tesseract"):
        listing = subprocess.run([program, "--list-langs"], capture_output=True, text=True, check=False)
        if match := re.search(r'"(.+)"', listing.stdout):
            yield Path(match[1])
