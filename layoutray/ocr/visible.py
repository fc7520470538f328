"""Which words of a PDF's text layer a reader of the page sees."""

import itertools
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.document import Box
from layoutray.ocr import calls
from layoutray.ocr.characters import TextWords
from layoutray.ocr.ink import Ink, apart, small_drawing
from layoutray.ocr.objects import PageObjects
from layoutray.ocr.pdf import PdfPage, ToPageSides, box_mapping

_THIN = 2.0
"""Points. A thinner line, or outline, hides no word."""
_LIGHT = 192
"""Least red, green and blue, of 255, of a ground on which dark letters are seen."""
_INNER = np.array((0.1, 0.3, -0.1, -0.3))
"""Shares of its width and height by which a word is made smaller: neighbours may touch it."""
_PAIRS = 1 << 20
"""Words and shapes that are compared at a time."""
_LEAST_HEIGHT, _LETTERS = 0.75, 2
"""Points; lower words of at least so many letters are no larger than dots."""
_DARK = 128
"""Most red, green and blue, of 255, of letters that are seen on a light ground."""
_LEAST_NAME = 2
"""Bytes; a font with a shorter name is of Type 3, whose letters are drawings."""
_NEAR = 0.001
"""Points."""
_LEAST_CHANGE = 0.05
"""Share of a word's pixels that change when it is taken away, if it is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaintedWords:
    """Words of a text layer, with the objects that paint them.

    Attributes:
        text: the text layer.
        objects: of the page.
        items: the text objects of the words' first characters, (n,); 0 without one.
        modes: how each of them is painted: PDFium's number for the mode.
        ranks: places of `items` among the objects, (n,).
        hidden: the word is invisible text, or a picture is painted over its centre, (n,).
        over_picture: its centre lies on a picture, which may be painted before or after it, (n,).
    """

    text: pdfium.PdfTextPage
    text_words: TextWords
    objects: PageObjects
    items: list[int]
    modes: dict[int, int]
    ranks: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    over_picture: NDArray[np.bool_]

    @classmethod
    def of(
        cls, text: pdfium.PdfTextPage, text_words: TextWords, objects: PageObjects, pictures: dict[int, Box]
    ) -> "PaintedWords":
        """The words of a page. `pictures`: boxes of pictures, by their rank."""
        items = calls.text_objects(text, text_words.characters.numbers[text_words.spans[:, 0]].tolist())
        places = {item: rank for rank, item in enumerate(objects.items)}
        ranks = np.array([places.get(item, 0) for item in items], dtype=np.int64)
        modes = {item: calls.render_mode_of(item) for item in set(items) if item}
        hidden = np.array([modes.get(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE for item in items], dtype=np.bool_)
        over_picture = np.zeros(len(items), dtype=np.bool_)
        sides = text_words.sides
        middles = (sides[:, :2] + sides[:, 2:]) / 2
        for rank, box in pictures.items():
            inside = ((middles >= (box.x0, box.y0)) & (middles <= (box.x1, box.y1))).all(axis=1)
            over_picture |= inside
            hidden |= inside & (rank > ranks)
        return cls(
            text=text,
            text_words=text_words,
            objects=objects,
            items=items,
            modes=modes,
            ranks=ranks,
            hidden=hidden,
            over_picture=over_picture,
        )


def seen(painted: PaintedWords, page: PdfPage, ink: Ink) -> NDArray[np.bool_]:
    """Whether each word has ink in its place, and does not lie under a shape.

    The page is drawn for words alone of which its objects do not tell it. A font that is not in the file may have no
    letters on this machine. A word in it counts as seen, unless it is of ASCII letters, which each machine can draw.
    """
    words, sides = painted.text_words.words, painted.text_words.sides
    low = np.any((sides[:, 2:] - sides[:, :2]) * page.size < _LEAST_HEIGHT, axis=1)
    for number in np.flatnonzero(low).tolist():
        low[number] = sum(map(str.isalnum, words[number].text)) >= _LETTERS
    is_light, is_under = _ground(sides, painted.ranks, painted.objects, box_mapping(page.merged))
    found = ~low & is_light & _plainly_painted(painted, page)
    doubtful = np.flatnonzero(~found).tolist()
    inked = ink.under([words[number].box for number in doubtful])
    for number, has_ink in zip(doubtful, inked, strict=True):
        can_have_ink = words[number].text.isascii() or _is_embedded(painted.items[number])
        found[number] = (has_ink and not low[number]) or not can_have_ink
    under = is_under & found & ~painted.hidden
    if under.any():
        found[under] = _changes_page(painted, page, np.flatnonzero(under))
    return found


def _plainly_painted(painted: PaintedWords, page: PdfPage) -> NDArray[np.bool_]:
    """Whether words are of dark filled letters without transparency, clipping or layers, in a font with outlines."""
    if page.has_layers or page.merged is not page.shown:
        return np.zeros(len(painted.items), dtype=np.bool_)
    objects = painted.objects
    in_plain = set(itertools.compress(objects.items, objects.plain[objects.forms].tolist()))
    numbers = {item: number for number, item in enumerate(painted.items) if item in in_plain}
    fonts = {item: calls.font_of(item) for item in numbers}
    with_letters = {
        font
        for font, number in {fonts[item]: number for item, number in numbers.items()}.items()
        if _has_letters(painted, number, font)
    }
    dark = (calls.fill_colors(list(numbers))[:, :3].max(axis=1, initial=0) <= _DARK).tolist()
    plain = {
        item
        for item, is_dark in zip(numbers, dark, strict=True)
        if is_dark
        and fonts[item] in with_letters
        and painted.modes[item] == pdfium_c.FPDF_TEXTRENDERMODE_FILL
        and calls.is_plain(item)
    }
    return np.array([item in plain for item in painted.items], dtype=np.bool_)


def _has_letters(painted: PaintedWords, number: int, font: int) -> bool:
    """Whether a font has a name, i.e. is not of Type 3, and an outline for the first character of a word.

    PDFium gives a box to a character without an outline that begins at its origin.
    """
    characters, first = painted.text_words.characters, int(painted.text_words.spans[number, 0])
    left, bottom, right, top = characters.sides[first].tolist()
    x, y = calls.origin_of(painted.text, int(characters.numbers[first]))
    at_origin = min(abs(x - left), abs(x - right)) < _NEAR and min(abs(y - bottom), abs(y - top)) < _NEAR
    return not at_origin and calls.length_of_name(font, None, 0) >= _LEAST_NAME


def _changes_page(painted: PaintedWords, page: PdfPage, numbers: NDArray[np.int64]) -> list[bool]:
    """Whether the drawing of the page changes in the places of words when these are taken away.

    Text that is painted again in the same place is part of no word. Such copies are taken away, too.
    """
    objects, indices = painted.objects, painted.text_words.characters.numbers
    of_words = np.array(calls.text_objects(painted.text, indices.tolist()), dtype=np.uint64)
    taken = np.concatenate([np.arange(*span) for span in painted.text_words.spans[numbers].tolist()])
    shown = np.array(objects.items, dtype=np.uint64)[objects.ranks(pdfium_c.FPDF_PAGEOBJ_TEXT)]
    items = np.union1d(of_words[taken], np.setdiff1d(shown, of_words)).tolist()
    merged = PdfPage(shown=page.merged, merged=page.merged)
    before = small_drawing(merged)
    for item in filter(None, items):
        calls.set_active(item, False)
    changed = np.any(apart(before, small_drawing(merged)), axis=2)
    for item in filter(None, items):
        calls.set_active(item, True)
    height, width = changed.shape
    places = [painted.text_words.words[number].box.to_pixels(width, height) for number in numbers.tolist()]
    parts = (changed[int(y0) : int(y1) + 1, int(x0) : int(x1) + 1] for x0, y0, x1, y1 in places)
    return [bool(part.mean() >= _LEAST_CHANGE) for part in parts]


def _is_embedded(item: int) -> bool:
    return item != 0 and calls.is_embedded(calls.font_of(item)) == 1


def _ground(
    words: NDArray[np.float64], ranks: NDArray[np.int64], objects: PageObjects, to_page_sides: ToPageSides
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What lies before and behind words, without thin lines and frames.

    Args:
        words: sides of words, relative to the page, (n, 4).
        ranks: of the words among the objects, (n,).

    Returns:
        Of each word (n,), whether all that touches it was painted before it, in plain light colours, and whether a
        shape or shading that was painted after it, and is no picture, has the whole word.
    """
    shapes = objects.ranks(pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_SHADING)
    sides = objects.sides(shapes)
    thick = (sides[:, 2:] - sides[:, :2] > _THIN).all(axis=1)
    sides, shapes = to_page_sides(sides[thick]), shapes[thick]
    covers, light = _paint([objects.items[rank] for rank in shapes.tolist()], objects.kinds[shapes])
    covers &= ~light | (shapes > ranks.min(initial=len(objects.items)))  # most pages have no more than a white ground
    sides, shapes, light = sides[covers], shapes[covers], light[covers]
    is_light, is_under = np.ones(len(words), dtype=np.bool_), np.zeros(len(words), dtype=np.bool_)
    is_shape = objects.kinds[shapes] != pdfium_c.FPDF_PAGEOBJ_IMAGE
    if not len(shapes):
        return is_light, is_under
    inner = words + np.tile(words[:, 2:] - words[:, :2], 2) * _INNER
    x0, y0, x1, y1 = inner.T[..., None]
    step = max(_PAIRS // max(len(words), 1), 1)
    for start in range(0, len(shapes), step):
        left, top, right, bottom = sides[start : start + step].T
        word, shape = np.nonzero((left < x1) & (right > x0) & (top < y1) & (bottom > y0))
        shape += start
        later = shapes[shape] > ranks[word]
        is_light[word[later | ~light[shape]]] = False
        contains = ((sides[shape, :2] <= inner[word, :2]) & (sides[shape, 2:] >= inner[word, 2:])).all(axis=1)
        is_under[word[later & contains & is_shape[shape]]] = True
    return is_light, is_under


def _paint(items: list[int], kinds: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether objects are more than a frame, and whether they are filled with a plain light colour, both (n,)."""
    is_path = kinds == pdfium_c.FPDF_PAGEOBJ_PATH
    filled, widths = calls.outlines(items)
    light = (calls.fill_colors(items)[:, :3] >= _LIGHT).all(axis=1)
    return ~is_path | filled | (widths > _THIN), is_path & filled & light
