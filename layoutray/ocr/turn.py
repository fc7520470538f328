"""Pages that lie on a side or upside down: read again in other directions, with boxes on the page as it lies."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr.engines import Engine
from layoutray.ocr.settings import Recognition

_MARGIN = 0.15
"""A turned page that is not read well must be read better than the upright one by at least this confidence."""
_LOWEST_LINE = 6
"""Pixels; a picture that is thinner holds no letter."""
_LONGEST_LINE = 150
"""The length of a line of text is at most this number of times its height."""
_MANY_WORDS = 30
"""A page with fewer words is read in all directions as a whole."""
_ROWS, _COLUMNS = 3, 2
"""Parts of a page."""
_WHOLE_WORD = 3
"""Letters; the boxes of shorter words may be higher than wide."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a page after it was turned.

    Attributes:
        words: of `read_upright`, their boxes are relative to the page as it lies.
        turns: quarter turns anticlockwise before the page was read.
        confidence: mean over the letters of words; 0 for words of at least three letters that are higher than wide.
    """

    words: tuple[Word, ...]
    turns: int
    confidence: float

    @property
    def degrees(self) -> int:
        """How far the page was turned clockwise before it was read: 0, 90, 180 or 270."""
        return (360 - 90 * self.turns) % 360


def read_upright(picture: NDArray[np.uint8], engine: Engine, settings: Recognition) -> Reading:
    """Read a page, and read it again turned by 180, 90 and 270 degrees if its words are not read well.

    A page that the engine reads well at once takes no more time than without this. Of other pages, the part with most
    text shows which direction is worth it. A strip that can hold no line of text has no words.
    """
    shorter, longer = sorted(picture.shape[:2])
    if shorter < _LOWEST_LINE or longer > _LONGEST_LINE * shorter:
        return Reading((), 0, 0.0)
    upright = best = _read(picture, engine, settings, 0)
    read_once = settings.orientation == "upright" or _well_read(upright, engine)
    # If it lies on a side, most of its words are higher than wide. The likeliest turns come first.
    readable = sum(word.confidence or 0.0 for word in upright.words) / max(len(upright.words), 1)
    directions = () if read_once else (1, 3, 2) if upright.confidence < readable / 2 else (2, 1, 3)
    for turns in _likeliest(directions, picture, upright, engine, settings):
        reading = _read(picture, engine, settings, turns)
        if _well_read(reading, engine) and reading.words:
            best = reading
            break
        if reading.confidence > best.confidence:
            best = reading
    if not _well_read(best, engine) and best.confidence < upright.confidence + _MARGIN:
        best = upright
    words = tuple(
        replace(word, box=_turned_back(word.box, best.turns))
        for word in best.words
        if word.confidence is None or word.confidence >= engine.least_confidence
    )
    return replace(best, words=words)


def _likeliest(
    directions: Sequence[int], picture: NDArray[np.uint8], upright: Reading, engine: Engine, settings: Recognition
) -> Sequence[int]:
    """The direction in which the part of the page with most text is read best, if not upright; all for few words."""
    if not directions or len(upright.words) < _MANY_WORDS:
        return directions
    height, width = picture.shape[:2]
    middles = ((word.box.y0 + word.box.y1, word.box.x0 + word.box.x1) for word in upright.words)
    cells = Counter((min(int(y / 2 * _ROWS), _ROWS - 1), min(int(x / 2 * _COLUMNS), _COLUMNS - 1)) for y, x in middles)
    ((row, column), _), *_ = cells.most_common(1)
    part = picture[
        row * height // _ROWS : (row + 1) * height // _ROWS,
        column * width // _COLUMNS : (column + 1) * width // _COLUMNS,
    ]
    best = max((_read(part, engine, settings, turns) for turns in (0, *directions)), key=lambda one: one.confidence)
    return (best.turns,) if best.turns else ()


def _read(picture: NDArray[np.uint8], engine: Engine, settings: Recognition, turns: int) -> Reading:
    """Read the picture after `turns` quarter turns anticlockwise."""
    turned = np.ascontiguousarray(np.rot90(picture, turns))
    words = engine.recognise(turned, settings.settings, settings.max_pixels)
    letters = sum(len(word.text) for word in words)
    height, width = turned.shape[:2]
    sure = sum(
        len(word.text) * (word.confidence or 0.0)
        for word in words
        if len(word.text) < _WHOLE_WORD or (word.box.y1 - word.box.y0) * height <= (word.box.x1 - word.box.x0) * width
    )
    return Reading(words, turns, sure / letters if letters else 0.0)


def _well_read(reading: Reading, engine: Engine) -> bool:
    return not reading.words or reading.confidence >= engine.well_read


def _turned_back(box: Box, turns: int) -> Box:
    """A box of the turned page on the page as it lies."""
    for _ in range(turns):
        box = Box(1 - box.y1, box.x0, 1 - box.y0, box.x1)
    return box
