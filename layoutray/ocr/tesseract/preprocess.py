"""Preprocessing of a page picture before OCR, and the mapping of boxes back to the page."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr.tesseract.settings import Preprocessing

_MAX_SKEW = 5.0  # degrees; larger angles are not skew of a scan
_MIN_SKEW = 0.5  # degrees; smaller skew is not corrected
_HIGHEST = 30_000  # pixels of height after scaling up; Tesseract takes at most 32,767
_PROFILE_WIDTH = 800  # pixels; skew is measured on a picture of this width


@dataclass(frozen=True, slots=True)
class Prepared:
    """A preprocessed grey picture (height, width), and its mapping to the page.

    Attributes:
        to_page: 2 x 3 affine matrix from coordinates relative to this picture to those relative to the page.
    """

    image: NDArray[np.uint8]
    to_page: NDArray[np.float64]

    def on_page(self, words: Iterable[Word]) -> tuple[Word, ...]:
        """Words of this picture with their boxes on the page: bounding boxes, clipped to the page."""
        return tuple(replace(word, box=self._box_on_page(word.box)) for word in words)

    def _box_on_page(self, box: Box) -> Box:
        corners = np.array([[box.x0, box.y0, 1], [box.x1, box.y0, 1], [box.x1, box.y1, 1], [box.x0, box.y1, 1]])
        on_page = np.clip(corners @ self.to_page.T, 0.0, 1.0)
        (x0, y0), (x1, y1) = on_page.min(axis=0).tolist(), on_page.max(axis=0).tolist()
        return Box(x0, y0, x1, y1)


def preprocess(image: NDArray[np.uint8], settings: Preprocessing, max_pixels: int) -> Prepared:
    """Apply the steps of `settings` to a grey (height, width) or RGB (height, width, 3) picture.

    Args:
        max_pixels: a picture that is made larger has at most so many pixels.
    """
    if settings.grayscale:
        image = to_gray(image)
    height, width = image.shape[:2]
    largest = min(math.isqrt(max_pixels * width // height), _HIGHEST * width // height)
    image = _rescaled(image, min(settings.width, max(largest, width)))
    if settings.clahe > 0:
        image = _equalised(image, settings.clahe)
    if settings.dilate > 1:
        image = _array(cv2.dilate(image, np.ones((settings.dilate, settings.dilate), np.uint8)))
    if settings.erode > 1:
        image = _array(cv2.erode(image, np.ones((settings.erode, settings.erode), np.uint8)))
    gray = to_gray(image)
    skew = find_skew(gray) if settings.deskew else 0.0
    if abs(skew) <= _MIN_SKEW:
        return Prepared(gray, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    return _deskewed(gray, skew)


def to_gray(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luminance (height, width) of an RGB picture; a grey picture is returned unchanged."""
    return image if image.ndim == 2 else _array(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def find_skew(image: NDArray[np.uint8]) -> float:
    """Skew of the text lines of a grey picture in degrees, clockwise positive; 0 for a blank picture.

    Horizontal lines give the sharpest profile of ink per row. The result is the rotation with the largest sum of
    squared differences between adjacent rows.
    """
    small = _rescaled(image, _PROFILE_WIDTH) if image.shape[1] > _PROFILE_WIDTH else image
    _, ink = cv2.threshold(small, 0, 255, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    coarse = _best_angle(_array(ink), np.arange(-_MAX_SKEW, _MAX_SKEW + 0.25, 0.5))
    return _best_angle(_array(ink), np.arange(coarse - 0.4, coarse + 0.45, 0.1))


def _best_angle(ink: NDArray[np.uint8], angles: NDArray[np.float64]) -> float:
    height, width = ink.shape
    scores: list[float] = []
    for angle in angles:
        rotated = cv2.warpAffine(
            ink, cv2.getRotationMatrix2D((width / 2, height / 2), float(angle), 1.0), (width, height)
        )
        profile = rotated.sum(axis=1, dtype=np.float64)
        scores.append(float(np.square(np.diff(profile)).sum()))
    return float(angles[int(np.argmax(scores))]) if max(scores) > 0 else 0.0


def _deskewed(image: NDArray[np.uint8], skew: float) -> Prepared:
    height, width = image.shape
    rotation = cv2.getRotationMatrix2D((width / 2, height / 2), skew, 1.0)
    # The canvas grows so that the corners of the page stay on it.
    cosine, sine = abs(float(rotation[0, 0])), abs(float(rotation[0, 1]))
    new_width, new_height = int(np.ceil(width * cosine + height * sine)), int(np.ceil(height * cosine + width * sine))
    rotation[:, 2] += ((new_width - width) / 2, (new_height - height) / 2)
    size = (new_width, new_height)
    deskewed = cv2.warpAffine(image, rotation, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    # From pixels of the deskewed picture to pixels of the page, then both in relative coordinates.
    inverse = np.asarray(cv2.invertAffineTransform(rotation), dtype=np.float64)
    to_page = np.diag([1 / width, 1 / height]) @ inverse @ np.diag([float(new_width), float(new_height), 1.0])
    return Prepared(_array(deskewed), to_page)


def _rescaled(image: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    old_height, old_width = image.shape[:2]
    if width in (0, old_width):
        return image
    size = (width, max(round(old_height * width / old_width), 1))
    return _array(cv2.resize(image, size, interpolation=cv2.INTER_AREA if width < old_width else cv2.INTER_CUBIC))


def _equalised(image: NDArray[np.uint8], clip_limit: float) -> NDArray[np.uint8]:
    equaliser = cv2.createCLAHE(clipLimit=clip_limit, tileGridSize=(8, 8))
    if image.ndim == 2:
        return _array(equaliser.apply(image))
    lightness, *colours = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2LAB))
    return _array(cv2.cvtColor(cv2.merge([equaliser.apply(lightness), *colours]), cv2.COLOR_LAB2RGB))


def _array(image: object) -> NDArray[np.uint8]:
    return np.asarray(image, dtype=np.uint8)
