"""Words with boxes from the text layer of a PDF page, and whether that text layer is usable.

A scanned page may have a text layer too, from OCR of unknown quality. Such a page is read by OCR again.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.ocr import calls, characters, plausible, visible
from layoutray.ocr.ink import Ink
from layoutray.ocr.objects import PageObjects
from layoutray.ocr.pdf import PdfPage, ToPageSides, box_mapping
from layoutray.ocr.settings import Recognition
from layoutray.ocr.visible import PaintedWords

_MOSTLY_PICTURES = 0.5  # share of the page
_FEW_WORDS = 20  # fewer words may be a stamp, a page number or a fax header
_UNDECODABLE = 0.1  # share of characters
_SILENT = 0.15  # share of the length of text objects; white space and drawings of letters have up to 0.07
_A_WORD = 20  # points of length; white space alone is shorter
_MIN_AREA = 0.001  # share of the page; smaller pictures (bullets) hide no text, but scans may consist of strips


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLayer:
    """The text layer of a page.

    Attributes:
        words: without those that nobody sees, but with invisible ones over a picture: an earlier OCR of it.
        num_characters: number of characters without white space.
        num_undecodable: number of characters without a Unicode mapping.
        num_hidden: number of words that are invisible or covered by a picture.
        num_unseen: number of words that were left out, because nobody sees them.
        num_outlined: number of these that are invisible and have ink in their place that is no picture.
        silent_share: share of the length of text objects that have no characters, 0..1.
        pictures: boxes of the pictures; their order is that of painting.
        picture_share: share of the page covered by pictures, 0..1.
        ink: where the page has ink; None where that does not matter.
    """

    words: tuple[Word, ...]
    num_characters: int
    num_undecodable: int
    num_hidden: int
    num_unseen: int
    num_outlined: int
    silent_share: float
    pictures: tuple[Box, ...]
    ink: Ink | None

    @property
    def picture_share(self) -> float:
        return min(sum(box.area for box in self.pictures), 1.0)


def read(page: PdfPage) -> TextLayer:
    """The text layer of a page. Words are in the layer's order; boxes are relative to the cropped and rotated page."""
    to_page_sides = box_mapping(page.merged)
    objects = PageObjects.of(page.merged)
    pictures = dict(_pictures(objects, to_page_sides))
    with closing(page.merged.get_textpage()) as text:
        found = characters.read(text)
        painted = PaintedWords.of(text, characters.words_of(found, to_page_sides), objects, pictures)
        words = painted.text_words.words
        printed = np.array([not letter.isspace() for letter in found.text], dtype=np.bool_)
        layer = TextLayer(
            words=tuple(words),
            num_characters=int(printed.sum()),
            num_undecodable=int((found.undecodable & printed).sum()),
            num_hidden=int(painted.hidden.sum()),
            num_unseen=0,
            num_outlined=0,
            silent_share=_silent_share(painted, to_page_sides),
            pictures=tuple(pictures.values()),
            ink=None,
        )
        if not words or _is_scan(layer):
            return replace(layer, words=tuple(with_blocks(words)))
        return _without_unseen(layer, painted, page)


def _without_unseen(layer: TextLayer, painted: PaintedWords, page: PdfPage) -> TextLayer:
    ink = Ink(page)
    drawn = visible.seen(painted, page, ink)
    kept = drawn & (painted.over_picture | ~painted.hidden)
    return replace(
        layer,
        words=tuple(with_blocks(itertools.compress(layer.words, kept.tolist()))),
        num_hidden=int((painted.hidden & kept).sum()),
        num_unseen=int((~kept).sum()),
        num_outlined=int((drawn & ~kept).sum()),
        ink=ink,
    )


def _is_scan(layer: TextLayer) -> bool:
    num_visible = len(layer.words) - layer.num_hidden
    return layer.picture_share > _MOSTLY_PICTURES and num_visible < max(_FEW_WORDS, layer.num_hidden)


def has_usable_text(layer: TextLayer, settings: Recognition) -> tuple[bool, str]:
    """Whether the words of a page come from its text layer instead of OCR, and the reason as text."""
    num_words = len(layer.words)
    if settings.text_layer == "never":
        return False, "text_layer = never: every page is read by OCR"
    if num_words + layer.num_unseen == 0:
        return False, "the PDF page has no text layer"
    if _is_scan(layer):
        visible_words = f"{num_words - layer.num_hidden} of its {num_words} words are visible"
        return False, f"a scan: pictures cover {layer.picture_share:.0%} of the PDF page; {visible_words}"
    if num_words <= layer.num_outlined:
        all_words = num_words + layer.num_unseen
        return False, f"{layer.num_unseen} of the {all_words} words in the PDF page's text layer are not shown as text"
    if layer.num_undecodable > _UNDECODABLE * layer.num_characters:
        share = layer.num_undecodable / layer.num_characters
        return False, f"{share:.0%} of the characters in the PDF page's text layer have no Unicode mapping"
    if layer.silent_share > _SILENT:
        return False, f"{layer.silent_share:.0%} of the text that the PDF page shows has no characters"
    if (score := plausible.implausible(word.text for word in layer.words)) is not None:
        return False, f"the PDF page's text layer is of no language: its pairs of letters have {score:.1f} of 9 points"
    unseen = f"; {layer.num_unseen} more words, which nobody sees, are left out" if layer.num_unseen else ""
    return True, f"the PDF page has a text layer of {num_words} words{unseen}"


def _silent_share(painted: PaintedWords, to_page_sides: ToPageSides) -> float:
    """The share of the length of the text objects that have no characters, e.g. of vertical text.

    A second copy of a text has none either; it lies on words.
    """
    text, objects = painted.text, painted.objects
    ranks = objects.ranks(pdfium_c.FPDF_PAGEOBJ_TEXT)
    shown = np.array(objects.items, dtype=np.uint64)[ranks]
    silent = ~np.isin(shown, painted.items)
    if not silent.any():
        return 0.0
    sides = calls.bounds(shown.tolist())
    # Text in a font that is not in the file can have no size.
    sides[:, 2:] = np.maximum(sides[:, 2:], sides[:, :2] + 1)
    lengths = (sides[:, 2:] - sides[:, :2]).max(axis=1)
    most = max(_SILENT * lengths.sum(), _A_WORD)
    if lengths[silent].sum() > most:
        silent &= ~np.isin(shown, calls.text_objects(text, range(text.count_chars())))
    if lengths[silent].sum() <= most:
        return 0.0
    x0, y0, x1, y1 = to_page_sides(sides[silent]).T
    middles = [((x0 + x1) / 2)[:, None], ((y0 + y1) / 2)[:, None]]
    left, top, right, bottom = painted.text_words.sides.T
    on_word = (left <= middles[0]) & (middles[0] <= right) & (top <= middles[1]) & (middles[1] <= bottom)
    lost = ~np.isnan(x0) & ~on_word.any(axis=1)
    return float(lengths[silent][lost].sum() / lengths.sum())


def with_blocks(words: Iterable[Word]) -> Iterator[Word]:
    """The words with line and block indices, counted anew.

    A block ends where the next line is above or beside the previous line, or more than a line's height below it.
    """
    block, previous = 0, None
    for number, (_, group) in enumerate(itertools.groupby(words, key=lambda word: word.line)):
        line = list(group)
        box = Box.around(word.box for word in line)
        if previous is not None:
            near = previous.y0 <= box.y1 and box.y0 - previous.y1 <= previous.y1 - previous.y0
            block += not (near and box.x0 <= previous.x1 and previous.x0 <= box.x1)
        previous = box
        for word in line:
            yield Word(text=word.text, box=word.box, confidence=word.confidence, line=number, block=block)


def _pictures(objects: PageObjects, to_page_sides: ToPageSides) -> Iterator[tuple[int, Box]]:
    """Rank and bounding rectangle of the pictures larger than a thousandth of the page, also masked and nested ones."""
    ranks = objects.ranks(pdfium_c.FPDF_PAGEOBJ_IMAGE)
    for rank, sides in zip(ranks.tolist(), to_page_sides(objects.sides(ranks)).tolist(), strict=True):
        if not math.isnan(sides[0]) and (box := Box(*sides)).area > _MIN_AREA:
            yield rank, box
