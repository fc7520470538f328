"""A sheet of labels: for each one the strip of its page with the label in a frame, and a caption."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from layoutray.report.canvas import Rectangle, grown, load_fonts, stack, title_strip
from layoutray.report.palette import COLOURS

_WIDTH = 1000
_AROUND = 0.12
"""Share of the page's width that a strip shows above and below a label."""
_TALLEST = 600
_INK_CONTRAST = 40
"""Grey levels between a pixel and its surroundings from which it is ink, on photographs too."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A label on the picture of its page, in pixels, with the lines of its caption."""

    page: Image.Image
    box: Rectangle
    caption: Sequence[str]


def ink_share(page: Image.Image, box: Rectangle) -> float:
    """Share of the pixels of `box` that are much darker or lighter than the median of the box and its surroundings.

    The surroundings are as wide as the box is high, so a dark table around a photographed receipt does not count.
    """
    grey = np.asarray(page.convert("L")).astype(np.int16)
    x0, y0, x1, y1 = (max(round(side), 0) for side in box)
    x1, y1 = max(x1, x0 + 1), max(y1, y0 + 1)
    inside, margin = grey[y0:y1, x0:x1], y1 - y0
    around = grey[max(y0 - margin, 0) : y1 + margin, max(x0 - margin, 0) : x1 + margin]
    return float((np.abs(inside - np.median(around)) > _INK_CONTRAST).mean()) if inside.size else 0.0


def draw(crops: Sequence[Crop]) -> Image.Image:
    """The sheet, the first label on top."""
    fonts = load_fonts()
    strips: list[Image.Image] = []
    for number, crop in enumerate(crops, 1):
        first, *others = crop.caption
        strips += [title_strip([f"{number}. {first}", *others], _WIDTH, fonts), _strip(crop)]
    return stack(strips)


def _strip(crop: Crop) -> Image.Image:
    page = crop.page.convert("RGB")
    scale, around = _WIDTH / page.width, _AROUND * page.width
    top = max(round(crop.box[1] - around), 0)
    bottom = min(round(crop.box[3] + around), page.height)
    shown = page.crop((0, top, page.width, bottom))
    shown = shown.resize((_WIDTH, max(round(shown.height * scale), 1)), Image.Resampling.LANCZOS)
    x0, y0, x1, y1 = crop.box
    place = (x0 * scale, (y0 - top) * scale, x1 * scale, (y1 - top) * scale)
    ImageDraw.Draw(shown).rectangle(grown(place, 3), outline=COLOURS[1], width=3)
    return shown.crop((0, 0, _WIDTH, min(shown.height, _TALLEST)))
