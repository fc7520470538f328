"""Signatures in the picture of a page: large, thin, curved strokes that are no printed words and no rules.

Nothing is learned. Other handwriting, such as a date, looks the same; a field takes the signature beside its label (see
`layoutray.document.signature`).
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.document.page import SIGNED
from layoutray.ocr.marks import Grey, prepared

_DARK = 200
"""Most light of ink, of 255."""
_CONFIDENCE = 0.9
_PRINTED = 0.6
"""Least confidence of a word that hides ink, because it is printed. Engines read handwriting with less."""
_HIGHEST_PRINTED = 1.7
_LETTERS = 3
_RULE = 30
"""Pixels of a run of ink that is a rule."""
_LOW, _HIGH, _NARROW, _WIDE, _STROKE = 1.1, 9.0, 1.6, 32.0, 0.9
"""Sides of signatures, and most mean width of their strokes, as shares of the height of printed words."""
_LARGEST = 2.4
"""Least width and height, together, of the largest stroke, in the same measure."""
_FULL = 0.6
"""Most ink in the box of a signature."""


def find(picture: NDArray[np.uint8], words: Sequence[Word]) -> list[Word]:
    """The signatures of a picture (height, width) or (height, width, 3) as words, each a line and a block of its own.

    Args:
        words: that were read on the page. Without one of three letters, nothing is found.
    """
    grey, _ = prepared(picture)
    height, width = grey.shape
    heights = [word.box.y1 - word.box.y0 for word in words if sum(map(str.isalnum, word.text)) >= _LETTERS]
    if not heights:
        return []
    unit = float(np.median(heights)) * height
    ink = _handwriting(grey, words, unit)
    reach = (round(0.9 * unit) | 1, round(0.4 * unit) | 1)
    _, places, parts, _ = cv2.connectedComponentsWithStats(cv2.dilate(ink, np.ones(reach[::-1], np.uint8)))
    thickness = np.asarray(cv2.distanceTransform(ink, cv2.DIST_L2, 3), np.float32)
    found: list[Word] = []
    across, down = parts[1:, cv2.CC_STAT_WIDTH] / unit, parts[1:, cv2.CC_STAT_HEIGHT] / unit
    large = (across >= _NARROW) & (across <= _WIDE + 1) & (down >= _LOW) & (down <= _HIGH + 1)
    for number in (1 + np.flatnonzero(large)).tolist():
        x, y, wide, high, _ = parts[number].tolist()
        part = np.s_[y : y + high, x : x + wide]
        own = (places[part] == number) & (ink[part] > 0)
        if _is_signature(own, thickness[part], unit):
            left, top, wide, high = cv2.boundingRect(own.astype(np.uint8))
            box = Box.from_pixels((x + left, y + top, x + left + wide, y + top + high), width, height)
            line, block = (max(getattr(word, key) for word in (*words, *found)) + 1 for key in ("line", "block"))
            found.append(Word(text=SIGNED, box=box, confidence=_CONFIDENCE, line=line, block=block))
    return found


def _handwriting(grey: Grey, words: Sequence[Word], unit: float) -> Grey:
    """The ink of a page without rules and printed words, 255 or 0."""
    _, ink = cv2.threshold(grey, _DARK - 1, 255, cv2.THRESH_BINARY_INV)
    for side in ((1, _RULE), (_RULE, 1)):
        rules = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones(side, np.uint8))
        ink[cv2.dilate(rules, np.ones((3, 3), np.uint8)) > 0] = 0
    height, width = grey.shape
    for word in words:
        x0, y0, x1, y1 = word.box.to_pixels(width, height)
        if y1 - y0 <= _HIGHEST_PRINTED * unit and (word.confidence is None or word.confidence >= _PRINTED):
            ink[max(round(y0) - 1, 0) : round(y1) + 1, max(round(x0) - 1, 0) : round(x1) + 1] = 0
    return np.asarray(ink, np.uint8)


def _is_signature(own: NDArray[np.bool_], thickness: NDArray[np.float32], unit: float) -> bool:
    """Whether ink (height, width) is as large as a signature and of thin strokes, one of them larger than a letter."""
    high, wide = own.shape
    if not (_LOW * unit <= high <= _HIGH * unit and _NARROW * unit <= wide <= _WIDE * unit):
        return False
    _, _, strokes, _ = cv2.connectedComponentsWithStats(own.astype(np.uint8), connectivity=8)
    largest = (strokes[1:, cv2.CC_STAT_WIDTH] + strokes[1:, cv2.CC_STAT_HEIGHT]).max()
    thin = 4 * float(thickness[own].mean()) <= _STROKE * unit
    return thin and largest >= _LARGEST * unit and own.mean() <= _FULL
