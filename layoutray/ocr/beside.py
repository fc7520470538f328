"""Words in the pictures of a PDF page that has a text layer, where no text lies over them."""

from collections.abc import Sequence
from dataclasses import replace

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.ocr.engines import Engine
from layoutray.ocr.pictures import Rendered
from layoutray.ocr.settings import Recognition
from layoutray.ocr.turn import read_upright

_FEW_WORDS = 10
"""A picture with fewer words over it is read: they may be a stamp. More are a text on a background, or its OCR."""
_LEAST_WIDTH, _LEAST_HEIGHT = 36.0, 9.0
"""Points; a smaller picture holds no word that is worth the time."""
_MARGIN = 4.0
"""Points. Pictures that are nearer are read as one: a scan may consist of strips."""
_SHARED = 0.5
"""A word of a picture of which text covers this share is that text."""


def unread(pictures: Sequence[Box], words: Sequence[Word], size: tuple[float, float]) -> list[Box]:
    """The areas of pictures on a page of a size in points that can hold words and over which there is little text."""
    across, up = _MARGIN / size[0], _MARGIN / size[1]
    areas: list[Box] = []
    for picture in pictures:
        area, others = picture, areas
        while near := [one for one in others if _touch(one, area, across, up)]:
            area, others = Box.around([area, *near]), [one for one in others if one not in near]
        areas = [*others, area]
    large = [
        area
        for area in areas
        if (area.x1 - area.x0) * size[0] >= _LEAST_WIDTH and (area.y1 - area.y0) * size[1] >= _LEAST_HEIGHT
    ]
    inside = list(smallest_around([word.box for word in words], large)) if large else []
    return [area for number, area in enumerate(large) if inside.count(number) < _FEW_WORDS]


def read(
    page: Rendered, areas: Sequence[Box], words: Sequence[Word], engine: Engine, settings: Recognition
) -> list[Word]:
    """The words in areas of a drawn page that are not among `words`, each area a block.

    Of an area that is not read well, e.g. a photograph, only words that are read well are taken.
    """
    found: list[Word] = []
    for number, area in enumerate(areas):
        x0, y0, x1, y1 = (round(side) for side in area.to_pixels(page.width, page.height))
        part = page.image[y0:y1, x0:x1]
        if not part.size:
            continue
        reading = read_upright(part, engine, settings)
        least = 0.0 if reading.confidence >= engine.well_read else engine.well_read
        for word in reading.words:
            xa, ya, xb, yb = word.box.to_pixels(x1 - x0, y1 - y0)
            box, _ = Box.repaired((x0 + xa, y0 + ya, x0 + xb, y0 + yb), page.width, page.height)
            covered = sum(box.overlap(other.box) for other in words)
            if (word.confidence or 0.0) >= least and covered < _SHARED * box.area:
                found.append(replace(word, box=box, block=number))
    return found


def merged(words: Sequence[Word], found: Sequence[Word]) -> tuple[Word, ...]:
    """The words of the text layer and of pictures in one order.

    The words of a picture follow or precede the line of text that is nearest above or below it.
    """
    result = list(words)
    for number in sorted({word.block for word in found}):
        block = [word for word in found if word.block == number]
        place = _place(result, Box.around(word.box for word in block))
        first_line = 1 + max((word.line for word in result), default=-1)
        result[place:place] = [replace(word, line=first_line + word.line) for word in block]
    return tuple(result)


def _place(words: Sequence[Word], area: Box) -> int:
    """Where words of `area` belong among words in reading order."""
    best, place = float("inf"), len(words)
    for word in words:
        beside = max(word.box.x0 - area.x1, area.x0 - word.box.x1, 0.0)
        above, below = area.y0 - word.box.y1, word.box.y0 - area.y1
        apart = max(above, below, 0.0) + beside
        if apart < best or (apart == best and above >= below):
            best = apart
            line = [at for at, other in enumerate(words) if other.line == word.line]
            place = line[-1] + 1 if above >= below else line[0]
    return place


def _touch(one: Box, other: Box, across: float, up: float) -> bool:
    return (
        one.x0 <= other.x1 + across
        and other.x0 <= one.x1 + across
        and one.y0 <= other.y1 + up
        and other.y0 <= one.y1 + up
    )
