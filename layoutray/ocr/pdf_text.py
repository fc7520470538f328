"""Words with boxes from the text layer of a PDF page, and whether that text layer is usable.

A scanned page may have a text layer too, from OCR of unknown quality. Such a page is read by OCR again.
"""

import ctypes
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.ocr.pdf import PdfPage, Sides, page_box
from layoutray.ocr.settings import Recognition

_MOSTLY_PICTURES = 0.5  # share of the page
_FEW_WORDS = 20  # fewer words may be a stamp, a page number or a fax header
_UNDECODABLE = 0.1  # share of characters
_SOFT_HYPHEN = 2  # PDFium's code for a hyphen at the end of a line
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0x10FFFF))
_REPLACEMENT = 0xFFFD
_MIN_AREA = 0.001  # share of the page; smaller pictures (bullets) hide no text, but scans may consist of strips

_ToPageBox = Callable[[Sides], Box | None]
"""Maps sides in PDF coordinates to a box relative to the shown page; None outside the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLayer:
    """The text layer of a page.

    Attributes:
        num_characters: number of characters without white space.
        num_undecodable: number of characters without a Unicode mapping.
        num_hidden: number of words that are invisible or covered by a picture.
        picture_share: share of the page covered by pictures, 0..1.
    """

    words: tuple[Word, ...]
    num_characters: int
    num_undecodable: int
    num_hidden: int
    picture_share: float


@dataclass(frozen=True, slots=True)
class _Character:
    code: int
    index: int
    undecodable: bool
    sides: Sides | None


_TextWord = tuple[Word, int]
"""A word of the text layer, and the index of its first character."""


def read(page: PdfPage) -> TextLayer:
    """The text layer of a page. Words are in the layer's order; boxes are relative to the cropped and rotated page."""
    with closing(page.merged.get_textpage()) as text:
        to_page_box = partial(page_box, page.merged)
        characters = list(_characters(text))
        words = list(_split_words(characters, to_page_box))
        # In the order in which they are painted.
        objects = list(page.merged.get_objects((pdfium_c.FPDF_PAGEOBJ_TEXT, pdfium_c.FPDF_PAGEOBJ_IMAGE)))
        pictures = dict(_pictures(objects, to_page_box))
        num_hidden = sum(_hidden(text, objects, words, pictures)) if words else 0
    printed = [character for character in characters if not chr(character.code).isspace()]
    return TextLayer(
        words=tuple(_with_blocks(word for word, _ in words)),
        num_characters=len(printed),
        num_undecodable=sum(character.undecodable for character in printed),
        num_hidden=num_hidden,
        picture_share=min(sum(box.area for box in pictures.values()), 1.0),
    )


def has_usable_text(layer: TextLayer, settings: Recognition) -> tuple[bool, str]:
    """Whether the words of a page come from its text layer instead of OCR, and the reason as text."""
    num_words, covered = len(layer.words), layer.picture_share
    num_visible = num_words - layer.num_hidden
    if settings.text_layer == "never":
        return False, "text_layer = never: every page is read by OCR"
    if num_words == 0:
        return False, "the PDF page has no text layer"
    if covered > _MOSTLY_PICTURES and num_visible < max(_FEW_WORDS, layer.num_hidden):
        reason = (
            f"a scan: pictures cover {covered:.0%} of the PDF page; {num_visible} of its {num_words} words are visible"
        )
        return False, reason
    if layer.num_undecodable > _UNDECODABLE * layer.num_characters:
        share = layer.num_undecodable / layer.num_characters
        return False, f"{share:.0%} of the characters in the PDF page's text layer have no Unicode mapping"
    return True, f"the PDF page has a text layer of {num_words} words"


def _code_points(text: pdfium.PdfTextPage) -> Iterator[tuple[int, int]]:
    """Index and code of each character. PDFium gives UTF-16 units; two surrogates are one character."""
    high = 0
    for index in range(text.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(text, index)
        if high and 0xDC00 <= code <= 0xDFFF:
            yield index - 1, 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
            high = 0
            continue
        if high:
            yield index - 1, _REPLACEMENT
        high = code if 0xD800 <= code <= 0xDBFF else 0
        if not high:
            is_character = code <= 0x10FFFF and not 0xDC00 <= code <= 0xDFFF and not 0xFFFE <= code <= 0xFFFF
            yield index, code if is_character else _REPLACEMENT
    if high:
        yield text.count_chars() - 1, _REPLACEMENT


def _characters(text: pdfium.PdfTextPage) -> Iterator[_Character]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index, code in _code_points(text):
        located = pdfium_c.FPDFText_GetCharBox(text, index, left, right, bottom, top)
        sides = (left.value, bottom.value, right.value, top.value) if located else None
        unmapped = pdfium_c.FPDFText_HasUnicodeMapError(text, index) == 1
        private = any(first <= code <= last for first, last in _PRIVATE_USE)
        yield _Character(code, index, unmapped or private or code in (0, _REPLACEMENT), sides)


def _split_words(characters: list[_Character], to_page_box: _ToPageBox) -> Iterator[_TextWord]:
    line, word = 0, list[_Character]()
    for character in characters:
        letter = chr(character.code)
        if character.code == _SOFT_HYPHEN or letter.isspace():
            if character.code == _SOFT_HYPHEN:
                word.append(character)
            yield from _join_word(word, line, to_page_box)
            word = []
            line += letter in "\r\n" or character.code == _SOFT_HYPHEN
        elif letter.isprintable() or character.undecodable:
            word.append(character)
    yield from _join_word(word, line, to_page_box)


def _join_word(word: list[_Character], line: int, to_page_box: _ToPageBox) -> Iterator[_TextWord]:
    """The word made of these characters; nothing when it has no box on the page."""
    sides = [character.sides for character in word if character.sides is not None]
    if not sides:
        return
    lefts, bottoms, rights, tops = zip(*sides, strict=True)
    box = to_page_box((min(lefts), min(bottoms), max(rights), max(tops)))
    if box is not None:
        text = "".join("-" if character.code == _SOFT_HYPHEN else chr(character.code) for character in word)
        yield Word(text=text.replace("\0", chr(_REPLACEMENT)), box=box, line=line), word[0].index


def _with_blocks(words: Iterable[Word]) -> Iterator[Word]:
    """The words with line and block indices.

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
        yield from (replace(word, line=number, block=block) for word in line)


def _hidden(
    text: pdfium.PdfTextPage, objects: list[pdfium.PdfObject], words: list[_TextWord], pictures: dict[int, Box]
) -> Iterator[bool]:
    """For each word, whether it is hidden: invisible text, or a picture painted over its centre."""
    order = {ctypes.addressof(item.raw.contents): rank for rank, item in enumerate(objects)}
    for word, first in words:
        item = pdfium_c.FPDFText_GetTextObject(text, first)
        invisible = (
            bool(item) and pdfium_c.FPDFTextObj_GetTextRenderMode(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE
        )
        rank = order.get(ctypes.addressof(item.contents), 0) if item else 0
        above = [box for at, box in pictures.items() if at > rank]
        yield invisible or next(smallest_around([word.box], above)) is not None


def _pictures(objects: list[pdfium.PdfObject], to_page_box: _ToPageBox) -> Iterator[tuple[int, Box]]:
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
