"""Pictures as PNG bytes, and as the pages of a PDF."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from layoutray.store import shards

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144
_QUALITY = 90


def png(picture: "Figure | Image.Image") -> bytes:
    """`picture`, encoded as PNG."""
    stream = io.BytesIO()
    if isinstance(picture, Image.Image):
        picture.save(stream, "PNG")
    else:
        picture.savefig(stream, format="png")
    return stream.getvalue()


def write(pictures: Iterable[Image.Image], file: Path) -> None:
    """Replace `file` by a PDF with a page for each picture (at least one), or by the first one if it is a PNG.

    One picture is in memory at a time.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".png":
        shards.write_file(png(next(iter(pictures))), str(file))
        return
    for number, picture in enumerate(pictures):
        picture.save(file, "PDF", append=number > 0, resolution=_DPI, quality=_QUALITY)
