"""Picture of the word graph of a page: a line from each word to its neighbours (see `document.word_graph`)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from PIL import Image, ImageDraw

from layoutray.document import Page
from layoutray.report.canvas import PAPER, grown, load_fonts, resized, stack, title_strip
from layoutray.report.palette import COLOURS, Colour

SHOWN_WIDTH = (1000, 1600)
"""Pixels; wide enough to see the short lines between words."""
EDGE: Colour = COLOURS[0]
WORD: Colour = COLOURS[1]

_SUPERSAMPLING = 2
"""Lines are drawn this many times larger and then reduced, for smooth edges."""
_WIDTH = 4
_RADIUS = 6
_OPACITY = 190


def draw(image: Image.Image, page: Page, neighbours: Int[np.ndarray, "words 8"], caption: Sequence[str]) -> Image.Image:
    """The faded page with lines between the centres of neighbours.

    Args:
        image: picture of `page`, in any size.
        neighbours: word indices of the neighbours of each word, filled up with -1; one direction is enough for a line.
        caption: lines above the page.
    """
    shown, _ = resized(image, SHOWN_WIDTH)
    sheet = Image.blend(shown, Image.new("RGB", shown.size, PAPER), 0.35)
    size = _SUPERSAMPLING * shown.width, _SUPERSAMPLING * shown.height
    edges, words = Image.new("L", size), Image.new("L", size)
    boxes = [word.box.to_pixels(*size) for word in page.words]
    centres = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in boxes]
    for word, other in pairs(neighbours):
        ImageDraw.Draw(edges).line([centres[word], centres[other]], fill=_OPACITY, width=_WIDTH)
    for x, y in centres:
        ImageDraw.Draw(words).ellipse(grown((x, y, x, y), _RADIUS), fill=255)
    sheet.paste(EDGE, mask=edges.reduce(_SUPERSAMPLING))
    sheet.paste(WORD, mask=words.reduce(_SUPERSAMPLING))
    return stack([title_strip(caption, sheet.width, load_fonts()), sheet])


def pairs(neighbours: Int[np.ndarray, "words 8"]) -> list[tuple[int, int]]:
    """Each pair of neighbours once, sorted, with the smaller index first."""
    words, _ = np.nonzero(neighbours >= 0)
    edges = np.stack([words, neighbours[neighbours >= 0]], axis=1)
    return sorted({(int(first), int(second)) for first, second in np.sort(edges, axis=1)})
