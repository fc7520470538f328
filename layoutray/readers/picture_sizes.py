"""Shared by readers: sizes of pictures, from the headers of their files."""

import io
from dataclasses import dataclass
from itertools import islice

from PIL import Image, ImageSequence, UnidentifiedImageError

from layoutray.errors import DocumentError, Reason
from layoutray.readers.annotation import PageSize

_ORIENTATION, _SIDEWAYS = 0x0112, (5, 6, 7, 8)


@dataclass(frozen=True, slots=True)
class PictureFrame:
    """A picture of a file: its size in pixels after EXIF rotation, and the EXIF orientation, 1 to 8 (1 without one)."""

    size: PageSize
    orientation: int = 1


def picture_size(data: bytes, where: str) -> PageSize:
    """Size of a picture in pixels after EXIF rotation, from its header.

    Raises:
        DocumentError: (empty_file, too_large or unreadable, stage `open`).
    """
    return picture_frames(data, where, most=1)[0].size


def picture_frames(data: bytes, where: str, most: int | None = None) -> list[PictureFrame]:
    """At most `most` pictures of a file; only TIFF files have several. Otherwise as `picture_size`."""
    if not data:
        raise DocumentError(Reason.EMPTY_FILE, f"{where} is empty", stage="open")
    try:
        with Image.open(io.BytesIO(data)) as picture:
            frames = ImageSequence.Iterator(picture) if picture.format == "TIFF" else [picture]
            return [_frame(frame) for frame in islice(frames, most)]
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DocumentError(Reason.TOO_LARGE, f"{where}: {error}", stage="open") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DocumentError(Reason.UNREADABLE, f"{where} is not a readable picture: {error}", stage="open") from error


def _frame(picture: Image.Image) -> PictureFrame:
    width, height = picture.size
    orientation = picture.getexif().get(_ORIENTATION, 1)
    sideways = orientation in _SIDEWAYS
    return PictureFrame(PageSize(height, width) if sideways else PageSize(width, height), orientation)
