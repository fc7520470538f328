"""Picture of a page and its words: on the left the page with a box around each word, on the right the texts.

A word's text is at the same place as its box, so that both are compared along a line and no text covers the page.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import median

from PIL import Image, ImageDraw, ImageFont

from layoutray.document import Page, Word
from layoutray.report.canvas import FAINT, INK, LINE, PAD, PAPER, grown, load_fonts, stack, title_strip
from layoutray.report.palette import COLOURS, Colour

WORD_HEIGHT = 26
"""Pixels of a median word in the picture: its text is readable, and a line between words is visible."""
SHOWN_WIDTH = (500, 2000)
SHOWN_HEIGHT = 6000
"""Limits of the page in the picture, in pixels. A long receipt stays readable."""
ORDER: Colour = COLOURS[3]
"""Colour of the line from each word to the next."""

_RULE: Colour = (222, 226, 230)
_GAP = 12
_SMALLEST_FONT = 11
_TINT = 0.72
_SUPERSAMPLING = 2


@dataclass(frozen=True, slots=True)
class Level:
    """Words with a confidence of at least `least` that no later level takes."""

    name: str
    least: float
    colour: Colour


LEVELS = (
    Level("below 0.5", 0.0, COLOURS[1]),
    Level("0.5 to 0.8", 0.5, COLOURS[4]),
    Level("0.8 and more", 0.8, COLOURS[0]),
)
DOUBTFUL = LEVELS[1].least
"""A word with a lower confidence is of the lowest level."""
UNKNOWN = Level("without confidence", 0.0, FAINT)


def level_of(word: Word) -> Level:
    """The level of a word's confidence; UNKNOWN when it has none."""
    confidence = word.confidence
    if confidence is None:
        return UNKNOWN
    return next(level for level in reversed(LEVELS) if confidence >= level.least)


def draw(image: Image.Image, page: Page, caption: Sequence[str]) -> Image.Image:
    """The page on `image` (any size) with boxes coloured by confidence and the reading order; beside it the texts."""
    size = shown_size(page)
    shown = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    texts = Image.new("RGB", size, PAPER)
    places = [word.box.to_pixels(*size) for word in page.words]
    pen, text_pen = ImageDraw.Draw(shown), ImageDraw.Draw(texts)
    for word, place in zip(page.words, places, strict=True):
        colour = level_of(word).colour
        pen.rectangle(grown(place, 2), outline=colour, width=2)
        text_pen.rectangle(grown(place, 2), fill=_pale(colour))
    for word, (x0, y0, x1, y1) in zip(page.words, places, strict=True):
        # The largest size in which the text fits into its box, at least the smallest that can be read.
        fitting = 100 * (x1 - x0) / max(_font(100).getlength(word.text), 1.0)
        font = _font(max(_SMALLEST_FONT, int(min(fitting, 0.9 * (y1 - y0)))))
        text_pen.text((x0, (y0 + y1) / 2), word.text, font=font, fill=INK, anchor="lm")
    # A line from the end of each word to the start of the next one, which crosses no word of a line of text.
    order = Image.new("L", (_SUPERSAMPLING * shown.width, _SUPERSAMPLING * shown.height))
    for word, following in pairwise(places):
        ends = (word[2], (word[1] + word[3]) / 2), (following[0], (following[1] + following[3]) / 2)
        points = [(_SUPERSAMPLING * x, _SUPERSAMPLING * y) for x, y in ends]
        ImageDraw.Draw(order).line(points, fill=255, width=3)
    shown.paste(ORDER, mask=order.reduce(_SUPERSAMPLING))
    sheet = Image.new("RGB", (2 * size[0] + _GAP, size[1]), _RULE)
    sheet.paste(shown, (0, 0))
    sheet.paste(texts, (size[0] + _GAP, 0))
    fonts = load_fonts()
    return stack([title_strip(caption, sheet.width, fonts), sheet, _legend(page, sheet.width, fonts.plain)])


def shown_size(page: Page) -> tuple[int, int]:
    """Width and height of the page in the picture: a median word is WORD_HEIGHT pixels high, within the limits."""
    heights = [(word.box.y1 - word.box.y0) * page.height for word in page.words]
    scale = WORD_HEIGHT / max(median(heights or [WORD_HEIGHT]), 1.0)
    narrowest, widest = SHOWN_WIDTH
    scale = min(max(scale, narrowest / page.width), widest / page.width, SHOWN_HEIGHT / page.height)
    return max(1, round(page.width * scale)), max(1, round(page.height * scale))


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return load_fonts().plain.font_variant(size=size)


def _pale(colour: Colour) -> Colour:
    red, green, blue = (round(side + (255 - side) * _TINT) for side in colour)
    return red, green, blue


def _legend(page: Page, width: int, font: ImageFont.FreeTypeFont) -> Image.Image:
    """The colours with the number of words of each, and the line of the reading order."""
    counts = Counter(map(level_of, page.words))
    strip = Image.new("RGB", (width, 2 * PAD + LINE), PAPER)
    pen = ImageDraw.Draw(strip)
    left = float(PAD)
    for level in (*LEVELS, UNKNOWN):
        if level is not UNKNOWN or counts[level]:
            pen.rectangle((left, PAD + 2, left + 24, PAD + 18), fill=_pale(level.colour), outline=level.colour, width=2)
            text = f"{level.name}: {counts[level]} words"
            pen.text((left + 32, PAD), text, font=font, fill=INK)
            left += 32 + font.getlength(text) + 28
    pen.line([(left, PAD + 10), (left + 30, PAD + 10)], fill=ORDER, width=2)
    pen.text((left + 38, PAD), "reading order", font=font, fill=INK)
    return strip
