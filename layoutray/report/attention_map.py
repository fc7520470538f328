"""Where attention goes from some words of a page, or which words a model keeps: a heat over all words, and the mean of each block in the
margins.

After the figures of "Skim-Attention: Learning to Focus via Document Layout" (arXiv:2109.01078).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from PIL import Image, ImageChops, ImageDraw, ImageFont

from layoutray.document import Page
from layoutray.document.blocks import blocks, box_of, connected
from layoutray.report.canvas import (
    FAINT,
    INK,
    LINE,
    PAD,
    PAPER,
    Rectangle,
    cut,
    grown,
    load_fonts,
    resized,
    stacked,
    titled,
)
from layoutray.report.palette import COLOURS, Colour

SHOWN_WIDTH = (900, 1000)
"""Pixels: narrower than other pictures of pages, for the numbers in the margins have to be readable beside the whole page."""
UNIT: Colour = COLOURS[1]
"""Of the outline of what the attention comes from."""
RAMP = tuple(tuple(int(255 * side) for side in colormaps["Blues"](shade)[:3]) for shade in np.linspace(0.08, 0.75, 256))
"""From faint attention to strong, each step darker; even the last leaves black letters readable."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What the numbers are.

    Attributes:
        legend: how the legend goes on after the largest of them.
        none: what is said of a block that has none.
    """

    legend: str
    none: str


ATTENTION = Wording("of the attention, per word; in the margins the mean of a block's seen words", "not seen")
SELECTION = Wording("of what the model keeps, per word; in the margins the mean of a block's kept words", "not kept")

_RULE: Colour = (222, 226, 230)
_LEADER: Colour = (173, 181, 189)
_MARGIN = 205
_ROW = 22


@dataclass(frozen=True, slots=True)
class _Note:
    """What stands in the margin beside a block."""

    place: Rectangle
    text: str
    ink: Colour


def draw(
    image: Image.Image,
    page: Page,
    unit: Sequence[int],
    attention: Float[np.ndarray, "words"],
    caption: Sequence[str],
    wording: Wording = ATTENTION,
) -> Image.Image:
    """The page, faint, under the attention of its words; `unit` is outlined, and a legend explains the colours.

    Args:
        image: shows `page`, in any size.
        unit: numbers of the words that the attention comes from; none of a selection.
        attention: share of each word, 0..1; words that cannot be seen have 0 and stay uncoloured.
        caption: lines to write above.
    """
    shown, _ = resized(image, SHOWN_WIDTH)
    strongest = float(attention.max(initial=0.0))
    heated = ImageChops.multiply(
        Image.blend(shown, Image.new("RGB", shown.size, PAPER), 0.35), _heat(shown.size, page, attention, strongest)
    )
    notes = list(_notes(page, unit, attention, shown.size, wording.none))
    pen = ImageDraw.Draw(heated)
    for note in notes:
        pen.rectangle(grown(note.place, 3), outline=FAINT)
    for words in connected(page, unit):
        pen.rectangle(grown(box_of(page, words).to_pixels(*shown.size), 4), outline=UNIT, width=3)
    fonts = load_fonts()
    middle = _between_margins(heated, notes, fonts.plain)
    return stacked(
        [
            titled(caption, middle.width, fonts),
            middle,
            _legend(strongest, bool(unit), wording.legend, middle.width, fonts.plain),
        ]
    )


def _heat(size: tuple[int, int], page: Page, attention: Float[np.ndarray, "words"], strongest: float) -> Image.Image:
    heat = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(heat)
    for word in np.argsort(attention, kind="stable"):  # where boxes overlap, the strongest is seen
        if attention[word] > 0:
            pen.rectangle(
                grown(page.words[word].box.to_pixels(*size), 1), fill=RAMP[int(255 * attention[word] / strongest)]
            )
    return heat


def _notes(
    page: Page,
    unit: Sequence[int],
    attention: Float[np.ndarray, "words"],
    size: tuple[int, int],
    none: str = ATTENTION.none,
) -> Iterator[_Note]:
    for label, words in blocks(page):
        seen = [attention[word] for word in words if attention[word] > 0]
        text = f"{label} {percent(float(np.mean(seen)))}" if seen else f"{label} {none}"
        yield _Note(box_of(page, words).to_pixels(*size), text.strip(), UNIT if set(words) <= set(unit) else INK)


def percent(share: float) -> str:
    """With at most two digits that count."""
    return f"{float(f'{100 * share:.2g}'):g} %"


def _between_margins(page: Image.Image, notes: Sequence[_Note], font: ImageFont.FreeTypeFont) -> Image.Image:
    """The page with each note in the margin that its block is nearer to; in the right one, when it stands about in the middle."""
    sheet = Image.new("RGB", (page.width + 2 * _MARGIN, page.height), PAPER)
    sheet.paste(page, (_MARGIN, 0))
    pen = ImageDraw.Draw(sheet)
    pen.rectangle((_MARGIN, 0, _MARGIN + page.width - 1, page.height - 1), outline=_RULE)
    left = [note for note in notes if note.place[0] + note.place[2] < 0.95 * page.width]
    right = [note for note in notes if note not in left]
    for note, height in _spread(left, page.height):
        x0, y0, _, y1 = note.place
        pen.line([(_MARGIN + x0 - 4, (y0 + y1) / 2), (_MARGIN, (y0 + y1) / 2), (_MARGIN - 10, height)], fill=_LEADER)
        pen.text((_MARGIN - 14, height), cut(pen, note.text, font, _MARGIN - 20), font=font, fill=note.ink, anchor="rm")
    edge = _MARGIN + page.width
    for note, height in _spread(right, page.height):
        _, y0, x1, y1 = note.place
        pen.line([(_MARGIN + x1 + 4, (y0 + y1) / 2), (edge, (y0 + y1) / 2), (edge + 10, height)], fill=_LEADER)
        pen.text((edge + 14, height), cut(pen, note.text, font, _MARGIN - 20), font=font, fill=note.ink, anchor="lm")
    return sheet


def _spread(notes: Sequence[_Note], height: int) -> list[tuple[_Note, float]]:
    """The notes and the heights to write them at: beside their blocks as far as no two overlap; of too many the largest blocks' stay."""
    fitting = sorted(notes, key=lambda note: -_area(note.place))[: height // _ROW]
    ordered = sorted(fitting, key=lambda note: note.place[1] + note.place[3])
    heights: list[float] = []
    for note in ordered:
        middle = (note.place[1] + note.place[3]) / 2
        heights.append(max(middle, heights[-1] + _ROW if heights else _ROW / 2))
    lowest = height - _ROW / 2
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], lowest)
        lowest = heights[index] - _ROW
    return list(zip(ordered, heights, strict=True))


def _legend(strongest: float, outlined: bool, text: str, width: int, font: ImageFont.FreeTypeFont) -> Image.Image:
    strip = Image.new("RGB", (width, 2 * PAD + 2 * LINE), PAPER)
    pen = ImageDraw.Draw(strip)
    for index, colour in enumerate(RAMP):
        pen.line([(PAD + index, PAD), (PAD + index, PAD + 16)], fill=colour)
    end = PAD + len(RAMP)
    pen.text((PAD, PAD + 24), "0", font=font, fill=FAINT)
    pen.text((end, PAD + 24), percent(strongest), font=font, fill=FAINT, anchor="ra")
    pen.text((end + 16, PAD - 2), text, font=font, fill=INK)
    if outlined:
        pen.rectangle((end + 16, PAD + 27, end + 46, PAD + 41), outline=UNIT, width=3)
        pen.text((end + 56, PAD + 24), "where it comes from", font=font, fill=INK)
    return strip


def _area(place: Rectangle) -> float:
    return (place[2] - place[0]) * (place[3] - place[1])
