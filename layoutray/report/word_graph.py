"""The graph of a page's words: a line from each word to its neighbours (`document.word_graph`)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from PIL import Image, ImageDraw

from layoutray.document import Page
from layoutray.report.canvas import PAPER, grown, load_fonts, resized, stacked, titled
from layoutray.report.palette import COLOURS, Colour

SHOWN_WIDTH = (1000, 1600)
"""Pixels: wide enough for the short lines between words."""
EDGE: Colour = COLOURS[0]
WORD: Colour = COLOURS[1]

_FINER = 2
"""Lines are drawn so many times as large and then reduced, which smooths them."""
_WIDTH = 4
_RADIUS = 6
_OPACITY = 190


def draw(image: Image.Image, page: Page, neighbours: Int[np.ndarray, "words 8"], caption: Sequence[str]) -> Image.Image:
    """The page, faint, under the lines between the centres of neighbours.

    Args:
        image: shows `page`, in any size.
        neighbours: of each word of the page, -1 for none; a pair is drawn when either is in the list of the other.
        caption: lines to write above.
    """
    shown, _ = resized(image, SHOWN_WIDTH)
    sheet = Image.blend(shown, Image.new("RGB", shown.size, PAPER), 0.35)
    size = _FINER * shown.width, _FINER * shown.height
    edges, words = Image.new("L", size), Image.new("L", size)
    boxes = [word.box.to_pixels(*size) for word in page.words]
    centres = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in boxes]
    for word, other in pairs(neighbours):
        ImageDraw.Draw(edges).line([centres[word], centres[other]], fill=_OPACITY, width=_WIDTH)
    for x, y in centres:
        ImageDraw.Draw(words).ellipse(grown((x, y, x, y), _RADIUS), fill=255)
    sheet.paste(EDGE, mask=edges.reduce(_FINER))
    sheet.paste(WORD, mask=words.reduce(_FINER))
    return stacked([titled(caption, sheet.width, load_fonts()), sheet])


def pairs(neighbours: Int[np.ndarray, "words 8"]) -> list[tuple[int, int]]:
    """Each pair of neighbours once, the smaller number first, in order."""
    words, _ = np.nonzero(neighbours >= 0)
    both = np.stack([words, neighbours[neighbours >= 0]], axis=1)
    return sorted({(int(one), int(other)) for one, other in np.sort(both, axis=1)})
