"""Words with boxes from the text layer of a PDF page, and whether that text layer is usable.

A scanned page may have a text layer too, from OCR of unknown quality. Such a page is read by OCR again.
"""

import ctypes
import itertools
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.ocr import characters, plausible, visible
from layoutray.ocr.characters import SOFT_HYPHEN, Character
from layoutray.ocr.pdf import PdfPage, ToPageBox, box_mapping
from layoutray.ocr.settings import Recognition
from layoutray.ocr.visible import Ink, Painted

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


_TextWord = tuple[Word, int]
"""A word of the text layer, and the index of its first character."""


def read(page: PdfPage) -> TextLayer:
    """The text layer of a page. Words are in the layer's order; boxes are relative to the cropped and rotated page."""
    with closing(page.merged.get_textpage()) as text:
        to_page_box = box_mapping(page.merged)
        found = characters.read(text)
        text_words = list(_split_words(found, to_page_box))
        words = [word for word, _ in text_words]
        # In the order in which they are painted.
        objects = list(page.merged.get_objects((pdfium_c.FPDF_PAGEOBJ_TEXT, pdfium_c.FPDF_PAGEOBJ_IMAGE)))
        pictures = dict(_pictures(objects, to_page_box))
        items = [pdfium_c.FPDFText_GetTextObject(text, first) for _, first in text_words]
        paint = list(visible.painted(items, [word.box for word in words], objects, pictures))
        silent_share = _silent_share(text, objects, items, words, to_page_box)
    printed = [character for character in found if not chr(character.code).isspace()]
    layer = TextLayer(
        words=tuple(words),
        num_characters=len(printed),
        num_undecodable=sum(character.undecodable for character in printed),
        num_hidden=sum(one.hidden for one in paint),
        num_unseen=0,
        num_outlined=0,
        silent_share=silent_share,
        pictures=tuple(pictures.values()),
        ink=None,
    )
    if not words or _is_scan(layer):
        return replace(layer, words=tuple(with_blocks(words)))
    return _without_unseen(layer, paint, visible.Ink(page))


def _without_unseen(layer: TextLayer, paint: list[Painted], ink: Ink) -> TextLayer:
    inked = visible.inked(ink, layer.words, [one.item for one in paint])
    kept = [drawn and (one.over_picture or not one.hidden) for drawn, one in zip(inked, paint, strict=True)]
    return replace(
        layer,
        words=tuple(with_blocks(itertools.compress(layer.words, kept))),
        num_hidden=sum(one.hidden for one in itertools.compress(paint, kept)),
        num_unseen=kept.count(False),
        num_outlined=sum(drawn and not seen for drawn, seen in zip(inked, kept, strict=True)),
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


def _silent_share(
    text: pdfium.PdfTextPage, objects: list[pdfium.PdfObject], items: list[Any], words: list[Word], to_box: ToPageBox
) -> float:
    """The share of the length of the text objects that have no characters, e.g. of vertical text.

    A second copy of a text has none either; it lies on words.

    Args:
        items: the text objects of the words' first characters.
    """
    shown = {ctypes.addressof(item.raw.contents): item for item in objects if isinstance(item, pdfium.PdfTextObj)}
    silent = shown.keys() - {ctypes.addressof(item.contents) for item in items if item}
    sides = {address: item.get_bounds() for address, item in shown.items()} if silent else {}
    # Text in a font that is not in the file can have no size.
    lengths = {address: max(right - left, top - bottom, 1.0) for address, (left, bottom, right, top) in sides.items()}
    total = sum(lengths.values())
    most = max(_SILENT * total, _A_WORD)
    if sum(lengths[address] for address in silent) <= most:
        return 0.0
    every = (pdfium_c.FPDFText_GetTextObject(text.raw, index) for index in range(text.count_chars()))
    silent -= {ctypes.addressof(item.contents) for item in every if item}
    if sum(lengths[address] for address in silent) <= most:
        return 0.0
    boxes = {
        address: to_box((left, bottom, max(right, left + 1), max(top, bottom + 1)))
        for address, (left, bottom, right, top) in sides.items()
        if address in silent
    }
    places = {address: box for address, box in boxes.items() if box is not None}
    on_words = smallest_around(places.values(), [word.box for word in words])
    lost = sum(lengths[address] for address, word in zip(places, on_words, strict=True) if word is None)
    return lost / total


def _split_words(found: Iterable[Character], to_page_box: ToPageBox) -> Iterator[_TextWord]:
    line, word = 0, list[Character]()
    for character in found:
        letter = chr(character.code)
        if character.code == SOFT_HYPHEN or letter.isspace():
            if character.code == SOFT_HYPHEN:
                word.append(character)
            yield from _join_word(word, line, to_page_box)
            word = []
            line += letter in "\r\n" or character.code == SOFT_HYPHEN
        elif letter.isprintable() or (character.undecodable and letter >= " "):
            word.append(character)
    yield from _join_word(word, line, to_page_box)


def _join_word(word: list[Character], line: int, to_page_box: ToPageBox) -> Iterator[_TextWord]:
    """The word made of these characters; nothing when it has no box on the page."""
    sides = [character.sides for character in word if character.sides is not None]
    if not sides:
        return
    lefts, bottoms, rights, tops = zip(*sides, strict=True)
    box = to_page_box((min(lefts), min(bottoms), max(rights), max(tops)))
    if box is not None:
        text = "".join(["-" if character.code == SOFT_HYPHEN else chr(character.code) for character in word])
        yield Word(text=text, box=box, line=line), word[0].number


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


def _pictures(objects: list[pdfium.PdfObject], to_page_box: ToPageBox) -> Iterator[tuple[int, Box]]:
    """Number and bounding rectangle of the pictures larger than a thousandth of the page, also masked and nested ones.

    Bounds are transformed by all form objects that contain a picture.
    """
    for rank, item in enumerate(objects):
        if isinstance(item, pdfium.PdfImage):
            left, bottom, right, top = item.get_bounds()
            corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
            container = item.container
            while container is not None:
                matrix = container.get_matrix()
                corners = [matrix.on_point(*corner) for corner in corners]
                container = container.container
            xs, ys = zip(*corners, strict=True)
            box = to_page_box((min(xs), min(ys), max(xs), max(ys)))
            if box is not None and box.area > _MIN_AREA:
                yield rank, box
