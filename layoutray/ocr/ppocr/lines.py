"""Lines of text as upright pictures, other pictures of them for a second reading, and the way back to the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

_VERTICAL = 1.5
"""A line that is this many times as high as wide is read from top to bottom."""
_STRETCH = 1.12
"""Factor of the line's width."""
_TRIM = 0.08
"""Share of the height that is cut off above and below."""
_BORDER = 0.1
"""Share of the height that is added on all sides."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text.

    Attributes:
        picture: its part of the page, RGB (height, width, 3), with the text horizontal.
        to_page: 3 x 3 perspective matrix from pixels of the picture to pixels of the page.
    """

    picture: NDArray[np.uint8]
    to_page: NDArray[np.float64]

    def on_page(self, sides: tuple[float, float, float, float]) -> NDArray[np.float64]:
        """The corners (4, 2) on the page of the box x0, y0, x1, y1 of the picture, clockwise from its top left."""
        x0, y0, x1, y1 = sides
        corners = np.array([[[x0, y0], [x1, y0], [x1, y1], [x0, y1]]], dtype=np.float64)
        return cv2.perspectiveTransform(corners, self.to_page)[0]


def cut(page: NDArray[np.uint8], corners: NDArray[np.float64]) -> Line:
    """The line inside the quadrangle `corners` (4, 2) of an RGB page, clockwise from the text's top left."""
    top, right, bottom, left = (float(np.linalg.norm(one - other)) for one, other in pairwise([*corners, corners[0]]))
    width, height = max(top, bottom), max(left, right)
    if height >= _VERTICAL * width:
        corners, width, height = np.roll(corners, -1, axis=0), height, width
    size = max(round(width), 1), max(round(height), 1)
    target = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], dtype=np.float32)
    to_line = cv2.getPerspectiveTransform(corners.astype(np.float32), target)
    picture = cv2.warpPerspective(page, to_line, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return Line(np.asarray(picture, dtype=np.uint8), np.asarray(np.linalg.inv(to_line), dtype=np.float64))


def variants(line: Line) -> Iterator[Line]:
    """Other pictures of a line that was read with doubt: stretched, trimmed, and with a border."""
    height, width = line.picture.shape[:2]
    stretched = max(round(width * _STRETCH), 1)
    yield _changed(line, cv2.resize(line.picture, (stretched, height)), scale=width / stretched)
    trim = round(height * _TRIM)
    yield _changed(line, np.ascontiguousarray(line.picture[trim : height - trim]), top=trim)
    border = max(round(height * _BORDER), 1)
    picture = cv2.copyMakeBorder(line.picture, border, border, border, border, cv2.BORDER_REPLICATE)
    yield _changed(line, picture, top=-border, left=-border)


def _changed(line: Line, picture: object, *, scale: float = 1.0, left: float = 0.0, top: float = 0.0) -> Line:
    """A line with another picture, whose pixel (x, y) is at (scale * x + left, y + top) of the old one."""
    to_old = np.array([[scale, 0, left], [0, 1, top], [0, 0, 1]], dtype=np.float64)
    return Line(np.asarray(picture, dtype=np.uint8), line.to_page @ to_old)
