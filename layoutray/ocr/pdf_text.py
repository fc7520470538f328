"""Words with boxes from the text layer of a PDF page, and whether that layer can be trusted.

A text layer is what the page's maker wrote into the file. A scan may carry one as well, put behind or over its picture by
somebody's OCR of unknown quality: such a page is read anew.
"""

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.ocr.pdf_pictures import Picture, Place, paint_order, pictures_of, place_on
from layoutray.ocr.settings import Recognition

_MOSTLY_PICTURES = 0.5  # share of the page
_FEW_WORDS = 20  # a stamp, a page number, a line of a fax machine: not the text of a page
_UNDECODABLE = 0.1  # share of characters
_SOFT_HYPHEN = 2  # what PDFium makes of a hyphen that breaks a word at the end of a line
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0x10FFFF))
_REPLACEMENT = 0xFFFD


@dataclass(frozen=True, slots=True)
class TextLayer:
    """What a page's text layer holds.

    Attributes:
        num_characters: without blanks.
        num_undecodable: characters that have no meaning outside the page's own fonts.
        num_hidden: words that are invisible or painted over by a picture.
        picture_share: share of the page under pictures, 0..1.
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
    sides: tuple[float, float, float, float] | None


@dataclass(frozen=True, slots=True)
class _Piece:
    """The characters of one word, in the line that they stand in."""

    text: str
    box: Box
    line: int
    first: int


def read(page: pdfium.PdfPage) -> TextLayer:
    """The words of a page in the order of its text layer, boxes in shares of the page as it is shown (cropped and turned)."""
    with closing(page.get_textpage()) as text:
        place = place_on(page)
        characters = list(_characters(text))
        pieces = list(_pieces(characters, place))
        pictures = pictures_of(page, place)
        num_hidden = sum(_hidden(text, page, pieces, pictures)) if pieces else 0
    printed = [character for character in characters if not chr(character.code).isspace()]
    return TextLayer(
        words=tuple(_words(pieces)),
        num_characters=len(printed),
        num_undecodable=sum(character.undecodable for character in printed),
        num_hidden=num_hidden,
        picture_share=min(sum(picture.box.area for picture in pictures), 1.0),
    )


def has_usable_text(layer: TextLayer, settings: Recognition) -> tuple[bool, str]:
    """Whether a page's words are taken from its text layer rather than from OCR, and the reason in words."""
    number, covered = len(layer.words), layer.picture_share
    num_visible = number - layer.num_hidden
    if settings.text_layer == "never":
        return False, "text_layer = never: every page is read by OCR"
    if number == 0:
        return False, "the PDF page has no text layer"
    if covered > _MOSTLY_PICTURES and num_visible < max(_FEW_WORDS, layer.num_hidden):
        return (
            False,
            f"a scan: pictures cover {covered:.0%} of the PDF page and {num_visible} of its {number} words stand visibly on them",
        )
    if layer.num_undecodable > _UNDECODABLE * layer.num_characters:
        share = layer.num_undecodable / layer.num_characters
        return False, f"{share:.0%} of the characters in the PDF page's text layer have no meaning outside its fonts"
    return True, f"the PDF page has a text layer of {number} words"


def _characters(text: pdfium.PdfTextPage) -> Iterator[_Character]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(text.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(text, index)
        located = pdfium_c.FPDFText_GetCharBox(text, index, left, right, bottom, top)
        sides = (left.value, bottom.value, right.value, top.value) if located else None
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF or 0xFFFE <= code <= 0xFFFF:
            code = _REPLACEMENT
        unmapped = pdfium_c.FPDFText_HasUnicodeMapError(text, index) == 1
        yield _Character(code, index, unmapped or code in (0, _REPLACEMENT) or _private(code), sides)


def _private(code: int) -> bool:
    return any(first <= code <= last for first, last in _PRIVATE_USE)


def _pieces(characters: list[_Character], place: Place) -> Iterator[_Piece]:
    line, word = 0, list[_Character]()
    for character in characters:
        shown = chr(character.code)
        if character.code == _SOFT_HYPHEN or shown.isspace():
            if character.code == _SOFT_HYPHEN:
                word.append(character)
            yield from _piece(word, line, place)
            word = []
            line += shown in "\r\n" or character.code == _SOFT_HYPHEN
        elif shown.isprintable() or character.undecodable:
            word.append(character)
    yield from _piece(word, line, place)


def _piece(word: list[_Character], line: int, place: Place) -> Iterator[_Piece]:
    """The word of these characters; nothing where it has no place on the page."""
    sides = [character.sides for character in word if character.sides is not None]
    if not sides:
        return
    lefts, bottoms, rights, tops = zip(*sides, strict=True)
    box = place(min(lefts), min(bottoms), max(rights), max(tops))
    if box is not None:
        text = "".join("-" if character.code == _SOFT_HYPHEN else chr(character.code) for character in word)
        yield _Piece(text.replace("\0", chr(_REPLACEMENT)), box, line, word[0].index)


def _words(pieces: list[_Piece]) -> Iterator[Word]:
    """Pieces as words; a block ends where a line is more than a line's height away, or stands above or beside the one before."""
    block, previous = 0, None
    for number, (_, group) in enumerate(itertools.groupby(pieces, key=lambda piece: piece.line)):
        of_line = list(group)
        box = Box.around(piece.box for piece in of_line)
        if previous is not None and not _follows(box, previous):
            block += 1
        previous = box
        yield from (Word(piece.text, piece.box, line=number, block=block) for piece in of_line)


def _follows(line: Box, previous: Box) -> bool:
    height = previous.y1 - previous.y0
    return (
        previous.y0 <= line.y1 and line.y0 - previous.y1 <= height and line.x0 <= previous.x1 and previous.x0 <= line.x1
    )


def _hidden(
    text: pdfium.PdfTextPage, page: pdfium.PdfPage, pieces: list[_Piece], pictures: list[Picture]
) -> Iterator[bool]:
    """For each word, whether people cannot see it: drawn without ink, or a picture is painted over its middle."""
    order = paint_order(page)
    for piece in pieces:
        item = pdfium_c.FPDFText_GetTextObject(text, piece.first)
        without_ink = (
            bool(item) and pdfium_c.FPDFTextObj_GetTextRenderMode(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE
        )
        painted = order.get(ctypes.addressof(item.contents), 0) if item else 0
        yield without_ink or any(
            picture.painted > painted and _holds_middle(picture.box, piece.box) for picture in pictures
        )


def _holds_middle(outer: Box, inner: Box) -> bool:
    x, y = (inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2
    return outer.x0 <= x <= outer.x1 and outer.y0 <= y <= outer.y1
