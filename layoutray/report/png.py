"""Pictures as PNG bytes, and as the pages of a PDF."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

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


def write_pdf(pictures: Iterable[Image.Image], file: Path) -> None:
    """Replace `file` by a PDF with a page for each picture (at least one). One picture is in memory at a time."""
    for number, picture in enumerate(pictures):
        picture.save(file, "PDF", append=number > 0, resolution=_DPI, quality=_QUALITY)
