"""Lines of text on a page, found by PP-OCR's detection network through the package `rapidocr`."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray
from rapidocr.ch_ppocr_det.utils import DBPostProcess

from layoutray.ocr.ppocr import models

Lines = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Corners (lines, 4, 2) and mean probabilities of text (lines,)."""
_LONGEST_SIDE = 2000
"""Pixels; a larger page is scaled down for detection only."""
_STRIP = 5
"""A page that is this number of times as long as wide is padded."""
_TEXT_HEIGHT, _SMALL_TEXT = 24, 10
"""Pixels of height that small text needs, and the percentile of heights that is small text."""
_THUMBNAIL, _LONGEST_THUMBNAIL = 400, 1000
"""Pixels on the shorter and the longer side of a page on which the height of text is measured."""
_MULTIPLE = 32
"""The network takes sides that are a multiple of so many pixels."""
_TEXT_PIXEL, _TEXT_LINE = 0.2, 0.25
"""Least probability of text in a pixel, and its mean over a line. The package's defaults lose whole lines."""
_UNCLIP = 1.6
"""A line grows on all sides by its area, divided by its perimeter, times this."""


class Detector:
    """The network of a size, `tiny` or `small`, loaded."""

    def __init__(self, size: str) -> None:
        self._session = models.session(models.DETECTION[size])
        self._boxes = DBPostProcess(_TEXT_PIXEL, _TEXT_LINE, unclip_ratio=_UNCLIP, use_dilation=True)

    def lines(self, page: NDArray[np.uint8], short_side: int, max_pixels: int) -> Lines:
        """The lines of an RGB page (height, width, 3), in no order.

        Args:
            short_side: the page is scaled up to at least this many pixels on its shorter side.
            max_pixels: a page that is scaled up has at most so many pixels.

        Returns:
            Corners (lines, 4, 2) in pixels of the page, clockwise from each line's top left, and the mean probability
            of text over each line (lines,).
        """
        picture, scale = without_strip(page)
        height, width = picture.shape[:2]
        least = min(short_side, largest_short_side(picture.shape, max_pixels))
        factor = min(max(least / min(height, width), 1.0), _LONGEST_SIDE / max(height, width))
        size = [max(round(int(side * factor) / _MULTIPLE), 1) * _MULTIPLE for side in (width, height)]
        # The network was trained on BGR pictures with values from -1 to 1.
        values = cv2.resize(picture, size)[:, :, ::-1].astype(np.float32) / 127.5 - 1
        (probabilities,) = self._session.run(None, {"x": np.ascontiguousarray(values.transpose(2, 0, 1)[None])})
        corners, found = self._boxes(np.asarray(probabilities), (height, width))
        return np.asarray(corners, dtype=np.float64).reshape(-1, 4, 2) / scale, np.asarray(found, dtype=np.float64)


class FittingDetector:
    """Two networks, loaded: a tiny one measures the height of the text, so that lines are searched in few pixels.

    Args:
        size, short_side: of the network that searches, as in `Detector`.
    """

    def __init__(self, size: str, short_side: int) -> None:
        self._coarse, self._fine = Detector("tiny"), Detector(size)
        self._short_side = short_side

    def lines(self, page: NDArray[np.uint8], max_pixels: int) -> Lines:
        """The lines of an RGB page, as `Detector.lines` gives them."""
        thumbnail, scale = _reduced(
            page, min(_THUMBNAIL / min(page.shape[:2]), _LONGEST_THUMBNAIL / max(page.shape[:2]))
        )
        corners, _ = self._coarse.lines(thumbnail, _MULTIPLE, max_pixels)
        if not len(corners):
            return self._fine.lines(page, self._short_side, max_pixels)
        sides = np.linalg.norm(corners[:, :2] - corners[:, 1:3], axis=2)
        enough = _TEXT_HEIGHT * scale / float(np.percentile(sides.min(axis=1), _SMALL_TEXT))
        reduced, scale = _reduced(page, enough)
        short_side = min(self._short_side, round(min(page.shape[:2]) * enough))
        corners, probabilities = self._fine.lines(reduced, short_side, max_pixels)
        return corners / scale, probabilities


def _reduced(page: NDArray[np.uint8], scale: float) -> tuple[NDArray[np.uint8], float]:
    """The page scaled down, and its scale; unchanged if it would become larger."""
    if scale >= 1.0:
        return page, 1.0
    size = [max(round(side * scale), 1) for side in (page.shape[1], page.shape[0])]
    return np.asarray(cv2.resize(page, size, interpolation=cv2.INTER_AREA), dtype=np.uint8), scale


def without_strip(page: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], float]:
    """The page, and its scale; a strip is padded below and to the right, so that scaling cannot make it much larger."""
    height, width = page.shape[:2]
    least = math.ceil(min(max(height, width), _LONGEST_SIDE) / _STRIP)
    if min(height, width) >= least:
        return np.ascontiguousarray(page), 1.0
    scale = min(_LONGEST_SIDE / max(height, width), 1.0)
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    page = np.asarray(cv2.resize(page, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    below, beside = max(least - size[1], 0), max(least - size[0], 0)
    return np.pad(page, ((0, below), (0, beside), (0, 0)), mode="edge"), scale


def largest_short_side(shape: tuple[int, ...], max_pixels: int) -> int:
    """The shorter side of a picture (height, width, 3) that is scaled to `max_pixels`, as the network takes it."""
    short, long = sorted(shape[:2])
    return math.isqrt(max_pixels * short // long) // _MULTIPLE * _MULTIPLE
