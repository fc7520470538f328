"""Small files in native formats, written by the tests of the readers."""

import json
from pathlib import Path
from typing import Any

from PIL import Image

from layoutray.errors import DocumentError
from layoutray.readers import DocumentRef, Reader, Truth


def put(path: Path, content: str | bytes | dict[str, Any]) -> Path:
    """Write text (as UTF-8), bytes or JSON; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def put_picture(path: Path, width: int = 200, height: int = 100, orientation: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    Image.new("L", (width, height), 255).save(path, exif=exif)
    return path


def items(reader: Reader, root: Path) -> dict[tuple[str, str], DocumentRef]:
    """Items by split and key; every key stands once in its split."""
    found = list(reader.discover(str(root)))
    by_key = {(item.split, item.key): item for item in found}
    assert len(by_key) == len(found)
    return by_key


def only(reader: Reader, root: Path) -> Truth:
    (item,) = reader.discover(str(root))
    return reader.read(item)


def failure(truth: Truth) -> DocumentError:
    """Why the only page cannot be read."""
    assert truth.pages == ()
    (error,) = truth.failures.values()
    return error


def refusal(reader: Reader, root: Path) -> DocumentError:
    """Why the only document, or its only page, cannot be read."""
    try:
        return failure(only(reader, root))
    except DocumentError as error:
        return error


def texts(truth: Truth) -> list[str]:
    return [word.text for word in truth.pages[0].words]


def tags(truth: Truth) -> list[str | None]:
    return [word.tag for word in truth.pages[0].words]
