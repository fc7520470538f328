"""Other pictures of a line, for a second reading where the first is uncertain."""

from collections.abc import Iterator

import cv2
import numpy as np

from layoutray.ocr.ppocr.lines import Line

_STRETCH = 1.12
"""Factor of the line's width."""
_TRIM = 0.08
"""Share of the height that is cut off above and below."""
_BORDER = 0.1
"""Share of the height that is added on all sides."""


def variants(line: Line) -> Iterator[Line]:
    """The line stretched, trimmed, and with a border."""
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
