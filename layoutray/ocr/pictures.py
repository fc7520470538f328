"""Decode PNG, JPEG and TIFF files of any colour mode and depth to upright 8-bit grey or RGB pictures."""

import contextlib
import itertools
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from layoutray.errors import DocumentError, Reason
from layoutray.ocr.settings import Recognition

# Explicit decoders instead of Image.open: crafted bytes cannot reach the decoder of another format, and the limit on
# pixels is max_pixels instead of Pillow's process-wide one.
_DECODERS: dict[str, type[ImageFile]] = {"PNG": PngImageFile, "JPEG": JpegImageFile, "TIFF": TiffImageFile}
_DEEP_MODES = frozenset({"I", "F", "I;16", "I;16B", "I;16L", "I;16N"})
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
_NEW_SUBFILE_TYPE, _NO_PAGE = 254, 0b101  # bit 0: a copy of lower resolution; bit 2: a mask of transparency
_SUBFILE_TYPE, _REDUCED = 255, 2
_ORIENTATION, _AS_STORED = 274, 1


@dataclass(frozen=True, slots=True)
class Rendered:
    """The picture of a page: uint8, grey (height, width) or RGB (height, width, 3)."""

    image: NDArray[np.uint8]
    width: int
    height: int


def count_pages(data: bytes, kind: str, settings: Recognition) -> int:
    """Number of pictures in a file; more than one only in TIFF. Raises DocumentError (stage `open`)."""
    with _opened(data, kind, "open") as image:
        if kind != "TIFF":
            return 1
        # Stop at max_pages: a file can have millions of frames of a few bytes each.
        frames = list(itertools.islice(_page_frames(image), settings.max_pages + 1))
    if len(frames) > settings.max_pages:
        raise DocumentError(
            Reason.TOO_LARGE,
            f"the file has more than {settings.max_pages} pages; split it or raise max_pages",
            stage="open",
        )
    return max(len(frames), 1)


def decode(data: bytes, kind: str, number: int, settings: Recognition) -> Rendered:
    """Picture `number` (from 1) of a file (PNG, JPEG or TIFF). Raises DocumentError (stages `open`, `render`)."""
    with _opened(data, kind, "render") as image:
        if not 1 <= number <= settings.max_pages:
            raise no_such_page(number)
        if kind == "TIFF":
            frame = next(itertools.islice(_page_frames(image), number - 1, None), 0 if number == 1 else None)
            if frame is None:
                raise no_such_page(number)
            image.seek(frame)
        elif number > 1:
            raise no_such_page(number)
        check_size(image.width, image.height, settings)
        image.load()
        # Orientation data that cannot be read are ignored.
        with contextlib.suppress(ValueError, SyntaxError, TypeError, OSError, KeyError):
            ImageOps.exif_transpose(image, in_place=True)
        pixels = _eight_bits(image)
    height, width = pixels.shape[:2]
    return Rendered(pixels, width, height)


def _page_frames(image: ImageFile) -> Generator[int]:
    """The frames of a TIFF that are pages: neither smaller copies of another frame (thumbnails) nor masks.

    A file that has only such frames has one page: its first frame.
    """
    for frame in itertools.count():
        try:
            image.seek(frame)
        except EOFError:
            return
        tags = image.tag_v2 if isinstance(image, TiffImageFile) else {}
        if not tags.get(_NEW_SUBFILE_TYPE, 0) & _NO_PAGE and tags.get(_SUBFILE_TYPE) != _REDUCED:
            yield frame


def is_turned(data: bytes, kind: str) -> bool:
    """Whether the EXIF data of a file says that its picture is to be turned or mirrored; False if they are unreadable.

    Raises:
        DocumentError: (stage `open`) when the file is damaged.
    """
    with _opened(data, kind, "open") as image:
        with contextlib.suppress(ValueError, SyntaxError, TypeError, OSError, KeyError):
            return image.getexif().get(_ORIENTATION, _AS_STORED) != _AS_STORED
        return False


def check_size(width: int, height: int, settings: Recognition) -> None:
    """Raise DocumentError (too_large, stage `render`) when a picture exceeds `max_pixels`. Call before decoding."""
    if width * height > settings.max_pixels:
        raise DocumentError(
            Reason.TOO_LARGE,
            f"the page is {width} x {height} = {width * height:,} pixels; at most {settings.max_pixels:,} are allowed; "
            "make it smaller or raise max_pixels",
            stage="render",
        )


@contextlib.contextmanager
def _opened(data: bytes, kind: str, stage: str) -> Generator[ImageFile]:
    """The file with its header read but no pixels. All errors of Pillow become DocumentErrors."""
    try:
        with warnings.catch_warnings():
            # Warnings are about metadata that decoding does not need.
            warnings.simplefilter("ignore")
            with _DECODERS[kind](BytesIO(data)) as image:
                yield image
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # decoders raise many types on damaged bytes
        raise DocumentError(
            Reason.UNREADABLE, f"the {kind} picture is damaged or truncated: {error}", stage=stage
        ) from error


def no_such_page(number: int) -> DocumentError:
    """The error for a page that a file does not have."""
    return DocumentError(Reason.NOT_FOUND, f"the file has no page {number}; pages are counted from 1", stage="open")


def _eight_bits(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode in _DEEP_MODES:
        return _from_deep(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        background = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(background, image)
    mode = "L" if image.mode in ("1", "L", "LA") else "RGB"
    return np.asarray(image.convert(mode), dtype=np.uint8)


def _from_deep(image: Image.Image) -> NDArray[np.uint8]:
    """8-bit grey values from deeper ones, scaled by the number of bits in use (scanners store 10 or 12 bits in 16)."""
    values = np.asarray(image)
    if values.dtype.kind == "f":
        values = np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0)
        values = values * 65535 if values.max(initial=0) <= 1 else values
    values = np.clip(values, 0, 2**32 - 1).astype(np.uint32)
    bits = max(int(values.max(initial=0)).bit_length(), 8)
    grey = (values >> (bits - 8)).astype(np.uint8)
    inverted = isinstance(image, TiffImageFile) and image.tag_v2.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
    return 255 - grey if inverted else grey
