"""A heat map over the words of a page, with the mean of each block in the margins.

It shows the attention that a page's words get from some query words. The design follows the figures of
"Skim-Attention: Learning to Focus via Document Layout" (arXiv:2109.01078).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from PIL import Image, ImageChops, ImageDraw, ImageFont

from benchmarks.figures.blocks import blocks, box_of, connected
from layoutray.document import Page
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
    stack,
    title_strip,
)
from layoutray.report.palette import COLOURS, Colour

SHOWN_WIDTH = (900, 1000)
"""Pixels. Other pictures of pages are wider; here the numbers in the margins must be readable beside the whole page."""
QUERY: Colour = COLOURS[1]
"""Colour of the outline around the query words."""
RAMP = tuple(tuple(int(255 * side) for side in colormaps["Blues"](shade)[:3]) for shade in np.linspace(0.08, 0.75, 256))
"""Colours from weak to strong, each darker than the one before. Black letters are readable on the darkest one too."""
_LEGEND = "share of attention per word; in the margins: mean over a block's words above 0 %"

_RULE: Colour = (222, 226, 230)
_LEADER: Colour = (173, 181, 189)
_MARGIN = 205
_ROW = 22


@dataclass(frozen=True, slots=True)
class _Note:
    """A text for the margin, about the block in `rectangle`."""

    rectangle: Rectangle
    text: str
    ink: Colour


def draw(
    image: Image.Image,
    page: Page,
    queries: Sequence[int],
    shares: Float[np.ndarray, "words"],
    caption: Sequence[str],
) -> Image.Image:
    """The faded page with its words coloured by `shares`, the query words outlined, and a legend below.

    Args:
        image: picture of `page`, in any size.
        queries: indices of the query words, whose attention `shares` is.
        shares: share of each word, 0..1; words with 0 are not coloured.
        caption: lines above the page.
    """
    shown, _ = resized(image, SHOWN_WIDTH)
    strongest = float(shares.max(initial=0.0))
    heat = Image.new("RGB", shown.size, PAPER)
    pen = ImageDraw.Draw(heat)
    for word in np.argsort(shares, kind="stable"):  # the strongest last, so that it is on top where boxes overlap
        if shares[word] > 0:
            box = page.words[word].box.to_pixels(*shown.size)
            pen.rectangle(grown(box, 1), fill=RAMP[int(255 * shares[word] / strongest)])
    heated = ImageChops.multiply(Image.blend(shown, Image.new("RGB", shown.size, PAPER), 0.35), heat)
    notes = list(_notes(page, queries, shares, shown.size))
    pen = ImageDraw.Draw(heated)
    for note in notes:
        pen.rectangle(grown(note.rectangle, 3), outline=FAINT)
    for words in connected(page, queries):
        pen.rectangle(grown(box_of(page, words).to_pixels(*shown.size), 4), outline=QUERY, width=3)
    fonts = load_fonts()
    middle = _with_margins(heated, notes, fonts.plain)
    return stack([title_strip(caption, middle.width, fonts), middle, _legend(strongest, middle.width, fonts.plain)])


def _notes(
    page: Page, queries: Sequence[int], shares: Float[np.ndarray, "words"], size: tuple[int, int]
) -> Iterator[_Note]:
    for label, words in blocks(page):
        positive = [shares[word] for word in words if shares[word] > 0]
        mean = float(np.mean(positive)) if positive else 0.0
        ink = QUERY if set(words) <= set(queries) else INK
        yield _Note(box_of(page, words).to_pixels(*size), f"{label} {percent(mean)}".strip(), ink)


def percent(share: float) -> str:
    """`share` in percent, with at most two significant digits."""
    return f"{float(f'{100 * share:.2g}'):g} %"


def _with_margins(page: Image.Image, notes: Sequence[_Note], font: ImageFont.FreeTypeFont) -> Image.Image:
    """The page between two margins, each note in the margin that is nearer to its block.

    Notes of blocks near the middle of the page are in the right margin.
    """
    sheet = Image.new("RGB", (page.width + 2 * _MARGIN, page.height), PAPER)
    sheet.paste(page, (_MARGIN, 0))
    pen = ImageDraw.Draw(sheet)
    pen.rectangle((_MARGIN, 0, _MARGIN + page.width - 1, page.height - 1), outline=_RULE)
    left = [note for note in notes if note.rectangle[0] + note.rectangle[2] < 0.95 * page.width]
    right = [note for note in notes if note not in left]
    edge = _MARGIN + page.width
    # Where the border of the page is, the direction away from it, and where the text is aligned to.
    for group, border, outwards, anchor in ((left, _MARGIN, -1, "rm"), (right, edge, 1, "lm")):
        for note, height in _with_heights(group, page.height):
            x0, y0, x1, y1 = note.rectangle
            start = _MARGIN + (x0 if outwards < 0 else x1) + 4 * outwards
            line = [(start, (y0 + y1) / 2), (border, (y0 + y1) / 2), (border + 10 * outwards, height)]
            pen.line(line, fill=_LEADER)
            text = cut(pen, note.text, font, _MARGIN - 20)
            pen.text((border + 14 * outwards, height), text, font=font, fill=note.ink, anchor=anchor)
    return sheet


def _with_heights(notes: Sequence[_Note], height: int) -> list[tuple[_Note, float]]:
    """The notes from top to bottom, each with the y coordinate of its text.

    A text is as close to the middle of its block as possible without overlapping another text. If not all texts fit
    into `height`, those of the smallest blocks are left out.
    """

    def area(note: _Note) -> float:
        x0, y0, x1, y1 = note.rectangle
        return (x1 - x0) * (y1 - y0)

    fitting = sorted(notes, key=area, reverse=True)[: height // _ROW]
    ordered = sorted(fitting, key=lambda note: note.rectangle[1] + note.rectangle[3])
    heights: list[float] = []
    for note in ordered:
        middle = (note.rectangle[1] + note.rectangle[3]) / 2
        heights.append(max(middle, heights[-1] + _ROW if heights else _ROW / 2))
    lowest = height - _ROW / 2
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], lowest)
        lowest = heights[index] - _ROW
    return list(zip(ordered, heights, strict=True))


def _legend(strongest: float, width: int, font: ImageFont.FreeTypeFont) -> Image.Image:
    strip = Image.new("RGB", (width, 2 * PAD + 2 * LINE), PAPER)
    pen = ImageDraw.Draw(strip)
    for index, colour in enumerate(RAMP):
        pen.line([(PAD + index, PAD), (PAD + index, PAD + 16)], fill=colour)
    end = PAD + len(RAMP)
    pen.text((PAD, PAD + 24), "0", font=font, fill=FAINT)
    pen.text((end, PAD + 24), percent(strongest), font=font, fill=FAINT, anchor="ra")
    pen.text((end + 16, PAD - 2), _LEGEND, font=font, fill=INK)
    pen.rectangle((end + 16, PAD + 27, end + 46, PAD + 41), outline=QUERY, width=3)
    pen.text((end + 56, PAD + 24), "query words (source of the attention)", font=font, fill=INK)
    return strip
