"""Pictures as the pages of a PDF."""

from collections.abc import Iterable
from pathlib import Path

from PIL import Image

_DPI = 144
_QUALITY = 90


def write(pictures: Iterable[Image.Image], file: Path) -> None:
    """Replace `file` by a PDF with a page for each picture (at least one). One picture is in memory at a time."""
    for number, picture in enumerate(pictures):
        picture.save(file, "PDF", append=number > 0, resolution=_DPI, quality=_QUALITY)
