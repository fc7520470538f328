"""What pictures of pages share: a readable size, fonts, inks and titles."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from layoutray.report.palette import Colour

SHOWN_HEIGHT = 2600
"""Pages that would be longer than this are reduced to it, however narrow they become: receipts can be metres long."""

PAD = 24
LINE = 26
"""Pixels round what is written above and below a picture, and from one line of it to the next."""

PAPER: Colour = (255, 255, 255)
INK: Colour = (33, 37, 41)
FAINT: Colour = (120, 126, 134)

Rectangle = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the picture."""


@dataclass(frozen=True, slots=True)
class Fonts:
    """Of one family."""

    plain: ImageFont.FreeTypeFont
    bold: ImageFont.FreeTypeFont
    small: ImageFont.FreeTypeFont


def load_fonts() -> Fonts:
    """The fonts of all pictures of pages."""
    # Matplotlib ships DejaVu, which has accents, Greek and Cyrillic; machines without any font package have it too.
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    plain, bold = str(folder / "DejaVuSans.ttf"), str(folder / "DejaVuSans-Bold.ttf")
    return Fonts(ImageFont.truetype(plain, 17), ImageFont.truetype(bold, 17), ImageFont.truetype(bold, 13))


def resized(page: Image.Image, widths: tuple[int, int]) -> tuple[Image.Image, float]:
    """The page in colour, as wide as `widths` (least and most pixels) allow and not too high, and by how much it was enlarged."""
    narrow, wide = widths
    fitting = min(max(page.width, narrow), wide) / page.width
    scale = min(fitting, SHOWN_HEIGHT / page.height)
    size = max(1, round(page.width * scale)), max(1, round(page.height * scale))
    return page.convert("RGB").resize(size, Image.Resampling.LANCZOS), scale


def grown(place: Rectangle, by: float) -> Rectangle:
    """`place` with `by` pixels more on every side."""
    return place[0] - by, place[1] - by, place[2] + by, place[3] + by


def cut(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, room: float) -> str:
    """As much of the beginning of `text` as is at most `room` pixels wide, with … where it goes on."""
    if pen.textlength(text, font=font) <= room:
        return text
    while text and pen.textlength(text + "…", font=font) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def titled(lines: Sequence[str], width: int, fonts: Fonts) -> Image.Image:
    """A strip to stand above a picture: the first line in bold, the others fainter."""
    strip = Image.new("RGB", (width, 2 * PAD + LINE * len(lines)), PAPER)
    pen = ImageDraw.Draw(strip)
    for number, line in enumerate(lines):
        font, ink = (fonts.plain, FAINT) if number else (fonts.bold, INK)
        pen.text((PAD, PAD + LINE * number), cut(pen, line, font, width - 2 * PAD), font=font, fill=ink)
    return strip


def stacked(strips: Sequence[Image.Image]) -> Image.Image:
    """Strips as wide as the first, one below the other."""
    sheet = Image.new("RGB", (strips[0].width, sum(strip.height for strip in strips)), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet
