"""Decode PNG, JPEG and TIFF files: upright, 8 bits, grey or RGB, whatever the file's colours and depth."""

import contextlib
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

# The decoders are named rather than left to Image.open: no other format's decoder can be reached by crafted bytes,
# and the limit on pixels is ours instead of Pillow's process-wide one.
_DECODERS: dict[str, type[ImageFile]] = {"PNG": PngImageFile, "JPEG": JpegImageFile, "TIFF": TiffImageFile}
_DEEP_MODES = frozenset({"I", "F", "I;16", "I;16B", "I;16L", "I;16N"})
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0


@dataclass(frozen=True, slots=True)
class Rendered:
    """The picture of a page: uint8, grey (height, width) or RGB (height, width, 3)."""

    image: NDArray[np.uint8]
    width: int
    height: int


def count_pages(data: bytes, kind: str, settings: Recognition) -> int:
    """Number of pictures in a file; only TIFF has more than one. Raises DocumentError (stage `open`)."""
    with _opened(data, kind, "open") as image:
        if kind != "TIFF":
            return 1
        return _count_frames(image, settings)


def decode(data: bytes, kind: str, number: int, settings: Recognition) -> Rendered:
    """Picture `number` (from 1) of a file of `kind` PNG, JPEG or TIFF. Raises DocumentError (stages `open`, `render`)."""
    with _opened(data, kind, "render") as image:
        _seek(image, number, settings)
        refuse_large(image.width, image.height, settings)
        image.load()
        _turn_upright(image)
        pixels = _eight_bits(image)
    height, width = pixels.shape[:2]
    return Rendered(pixels, width, height)


def refuse_large(width: int, height: int, settings: Recognition) -> None:
    """Raise DocumentError (too_large, stage `render`) for a picture of more than `max_pixels`; called before it is decoded."""
    if width * height > settings.max_pixels:
        raise DocumentError(
            Reason.TOO_LARGE,
            f"the page is {width} x {height} = {width * height:,} pixels, allowed are {settings.max_pixels:,}; "
            "make it smaller or raise max_pixels",
            stage="render",
        )


@contextlib.contextmanager
def _opened(data: bytes, kind: str, stage: str) -> Generator[ImageFile]:
    """The file's header read, its pixels not yet; whatever Pillow raises inside becomes a DocumentError."""
    try:
        with warnings.catch_warnings():
            # Pillow warns of oddities in metadata that it can do without; what it cannot do without raises.
            warnings.simplefilter("ignore")
            with _DECODERS[kind](BytesIO(data)) as image:
                yield image
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged bytes
        raise DocumentError(
            Reason.UNREADABLE, f"the {kind} picture is damaged or cut short: {error}", stage=stage
        ) from error


def _count_frames(image: ImageFile, settings: Recognition) -> int:
    # One at a time, and no further than allowed: files can be made of millions of frames of a few bytes.
    for number in range(1, settings.max_pages + 1):
        try:
            image.seek(number)
        except EOFError:
            return number
    raise DocumentError(
        Reason.TOO_LARGE,
        f"the file has more than {settings.max_pages} pages; split it or raise max_pages",
        stage="open",
    )


def _seek(image: ImageFile, number: int, settings: Recognition) -> None:
    if number < 1 or number > settings.max_pages:
        raise no_such_page(number)
    if number > 1:
        try:
            image.seek(number - 1)
        except EOFError as error:
            raise no_such_page(number) from error


def no_such_page(number: int) -> DocumentError:
    """The error for a page that a file does not have."""
    return DocumentError(Reason.NOT_FOUND, f"the file has no page {number}; pages are counted from 1", stage="open")


def _turn_upright(image: Image.Image) -> None:
    """As the camera's EXIF orientation says; orientation data that cannot be read says nothing."""
    with contextlib.suppress(ValueError, SyntaxError, TypeError, OSError, KeyError):
        ImageOps.exif_transpose(image, in_place=True)


def _eight_bits(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode in _DEEP_MODES:
        return _from_deep(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image)
    mode = "L" if image.mode in ("1", "L", "LA") else "RGB"
    return np.asarray(image.convert(mode), dtype=np.uint8)


def _from_deep(image: Image.Image) -> NDArray[np.uint8]:
    """Grey values of more than 8 bits, scaled by the number of bits in use: scanners put 10 or 12 of them into 16."""
    values = np.asarray(image)
    if values.dtype.kind == "f":
        values = np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0)
        values = values * 65535 if values.max(initial=0) <= 1 else values
    values = np.clip(values, 0, 2**32 - 1).astype(np.uint32)
    bits = max(int(values.max(initial=0)).bit_length(), 8)
    grey = (values >> (bits - 8)).astype(np.uint8)
    inverted = isinstance(image, TiffImageFile) and image.tag_v2.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
    return 255 - grey if inverted else grey
