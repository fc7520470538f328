"""Shared parts of pictures of pages: size, fonts, colours and titles."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from layoutray.report.palette import Colour

SHOWN_HEIGHT = 2600
"""Maximum height in pixels. Receipts can be very long; they are reduced to this height and become narrow."""

PAD = 24
LINE = 26
"""Pixels around the text above and below a picture, and from one line of text to the next."""

PAPER: Colour = (255, 255, 255)
INK: Colour = (33, 37, 41)
FAINT: Colour = (120, 126, 134)

Rectangle = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels."""


@dataclass(frozen=True, slots=True)
class Fonts:
    """Fonts of one family; `small` is bold."""

    plain: ImageFont.FreeTypeFont
    bold: ImageFont.FreeTypeFont
    small: ImageFont.FreeTypeFont


def load_fonts() -> Fonts:
    """The fonts for text on pictures of pages."""
    # Matplotlib ships DejaVu, so no font package is needed. It has accents, Greek and Cyrillic.
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    plain, bold = str(folder / "DejaVuSans.ttf"), str(folder / "DejaVuSans-Bold.ttf")
    return Fonts(ImageFont.truetype(plain, 17), ImageFont.truetype(bold, 17), ImageFont.truetype(bold, 13))


def resized(page: Image.Image, widths: tuple[int, int]) -> tuple[Image.Image, float]:
    """The page as RGB, resized to a readable size, and the scale factor.

    Args:
        widths: minimum and maximum width in pixels. A page higher than SHOWN_HEIGHT gets narrower than the minimum.
    """
    narrowest, widest = widths
    width_scale = min(max(page.width, narrowest), widest) / page.width
    scale = min(width_scale, SHOWN_HEIGHT / page.height)
    size = max(1, round(page.width * scale)), max(1, round(page.height * scale))
    return page.convert("RGB").resize(size, Image.Resampling.LANCZOS), scale


def grown(rectangle: Rectangle, pixels: float) -> Rectangle:
    """`rectangle`, larger by `pixels` on every side."""
    x0, y0, x1, y1 = rectangle
    return x0 - pixels, y0 - pixels, x1 + pixels, y1 + pixels


def cut(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, max_width: float) -> str:
    """`text`, shortened and ended with … if it is wider than `max_width` pixels."""
    if pen.textlength(text, font=font) <= max_width:
        return text
    while text and pen.textlength(text + "…", font=font) > max_width:
        text = text[:-1]
    return text.rstrip() + "…"


def title_strip(lines: Sequence[str], width: int, fonts: Fonts) -> Image.Image:
    """A strip of text to put above a picture: the first line in bold, the other lines in grey."""
    strip = Image.new("RGB", (width, 2 * PAD + LINE * len(lines)), PAPER)
    pen = ImageDraw.Draw(strip)
    for number, line in enumerate(lines):
        font, ink = (fonts.plain, FAINT) if number else (fonts.bold, INK)
        pen.text((PAD, PAD + LINE * number), cut(pen, line, font, width - 2 * PAD), font=font, fill=ink)
    return strip


def stack(strips: Sequence[Image.Image]) -> Image.Image:
    """One picture of `strips`, one below the other; all must have the same width."""
    sheet = Image.new("RGB", (strips[0].width, sum(strip.height for strip in strips)), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet
