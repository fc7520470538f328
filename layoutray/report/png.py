"""Pictures as PNG bytes."""

import io

from matplotlib.figure import Figure
from PIL import Image


def png(picture: Figure | Image.Image) -> bytes:
    """`picture`, encoded as PNG."""
    stream = io.BytesIO()
    if isinstance(picture, Figure):
        picture.savefig(stream, format="png")
    else:
        picture.save(stream, "PNG")
    return stream.getvalue()
