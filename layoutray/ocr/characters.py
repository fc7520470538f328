"""The characters of a PDF page, as PDFium gives them: their codes and places, each painted one once."""

import ctypes
import itertools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.ocr.pdf import Sides

SOFT_HYPHEN = 2
"""PDFium's code for a hyphen at the end of a line."""
_REPLACEMENT = 0xFFFD
_SPACE = 0x20
_SURROGATES = 0xD800
_PRIVATE = 0xE000
_WHITE_SPACE = frozenset("\t\n\r\v\f")
_CELL = 8.0
"""Points. A copy of a letter, painted beside it as a shadow or to make it bold, is at most half as far away."""
_EQUAL_IN_CELL = 4
"""Most equal characters of a cell of this size that are compared."""
_FEWEST_COPIES = 3
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = frozenset("([{<«‹"), frozenset(")]}>»›")
_RIGHT_TO_LEFT = ("R", "AL")
_FIRST_RIGHT_TO_LEFT = 0x590
_SPACES = frozenset(b"\t\n\r\v\f \xa0")


class Character(NamedTuple):
    """A character.

    Attributes:
        code: its Unicode code point.
        number: PDFium's index of it on the page.
        undecodable: it has no Unicode mapping, or one to a code that is no text.
        sides: None where it has no place, e.g. a space that PDFium has inserted.
    """

    code: int
    number: int
    undecodable: bool
    sides: Sides | None


def read(text: pdfium.PdfTextPage) -> list[Character]:
    """The characters of a page in the order of its text layer, without copies, with brackets as they are written."""
    return _with_brackets(_once(text, list(_characters(text))))


def _characters(text: pdfium.PdfTextPage) -> Iterator[Character]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    page, box_of, has_error = text.raw, pdfium_c.FPDFText_GetCharBox, pdfium_c.FPDFText_HasUnicodeMapError
    for index, code in _code_points(text):
        if code in _SPACES:  # its place and mapping do not matter
            yield Character(code, index, False, None)
            continue
        located = box_of(page, index, left, right, bottom, top)
        sides = (left.value, bottom.value, right.value, top.value) if located else None
        unmapped = has_error(page, index) == 1
        if not unmapped and _SPACE <= code < _PRIVATE:
            yield Character(code, index, False, sides)
            continue
        # An unmapped control character stands for a sign that is shown, a mapped one mostly for nothing.
        is_sign = code == 0 or (unmapped and code < _SPACE and _is_no_text(code))
        yield Character(_REPLACEMENT if is_sign else code, index, unmapped or _is_no_text(code), sides)


def _code_points(text: pdfium.PdfTextPage) -> Iterator[tuple[int, int]]:
    """Index and code of each character. PDFium gives UTF-16 units; two surrogates are one character."""
    high, page, code_of = 0, text.raw, pdfium_c.FPDFText_GetUnicode
    for index in range(text.count_chars()):
        code = code_of(page, index)
        if not high and code < _SURROGATES:
            yield index, code
            continue
        if high and 0xDC00 <= code <= 0xDFFF:
            yield index - 1, 0x10000 + ((high - _SURROGATES) << 10) + (code - 0xDC00)
            high = 0
            continue
        if high:
            yield index - 1, _REPLACEMENT
        high = code if _SURROGATES <= code <= 0xDBFF else 0
        if not high:
            is_character = code <= 0x10FFFF and not 0xDC00 <= code <= 0xDFFF and not 0xFFFE <= code <= 0xFFFF
            yield index, code if is_character else _REPLACEMENT
    if high:
        yield text.count_chars() - 1, _REPLACEMENT


def _is_no_text(code: int) -> bool:
    """Whether the code is for private use, or a control character: the trace of a wrong table of Unicode values."""
    if 0 < code < _SPACE:
        return code != SOFT_HYPHEN and chr(code) not in _WHITE_SPACE
    return code in (0, _REPLACEMENT) or _PRIVATE <= code <= 0xF8FF or code >= 0xF0000


def _once(text: pdfium.PdfTextPage, characters: list[Character]) -> list[Character]:
    """The characters without those that were painted again on, or a little beside, an equal one."""
    placed = [one for one in characters if one.sides]
    codes = np.fromiter(map(itemgetter(0), placed), dtype=np.int64, count=len(placed))
    every = itertools.chain.from_iterable(one.sides or () for one in placed)
    sides = np.fromiter(every, dtype=np.float64, count=4 * len(placed)).reshape(-1, 4)
    copies = _copies(text, placed, sides, _near_pairs(codes, sides, 0.0, 0.0))
    if not copies:
        return characters
    # Some copies lie on another side of a line of the grid.
    near = (_near_pairs(codes, sides, *shift) for shift in itertools.product((0.0, 0.5), repeat=2))
    copies = _copies(text, placed, sides, itertools.chain.from_iterable(near))
    return [one for one in characters if one.number not in copies]


def _near_pairs(
    codes: NDArray[np.int64], sides: NDArray[np.float64], right: float, up: float
) -> Iterator[tuple[int, int]]:
    """Pairs of equal characters of one size nearly in one place, in a grid shifted by shares of a cell."""
    middles, sizes = (sides[:, :2] + sides[:, 2:]) / 2, sides[:, 2:] - sides[:, :2]
    cells = np.floor(middles / _CELL + (right, up)).astype(np.int64)
    keys = ((cells[:, 0] << 20) + cells[:, 1] << 21) + codes
    order = np.argsort(keys, kind="stable")
    for distance in range(1, _EQUAL_IN_CELL):
        same = np.flatnonzero(keys[order[distance:]] == keys[order[:-distance]])
        earlier, later = order[same], order[same + distance]
        apart, height = np.abs(middles[earlier] - middles[later]), sizes[earlier, 1:]
        near = (apart < height / 2) & (np.abs(sizes[earlier] - sizes[later]) < height / 10)
        yield from zip(earlier[near.all(axis=1)].tolist(), later[near.all(axis=1)].tolist(), strict=True)


def _copies(
    text: pdfium.PdfTextPage, placed: list[Character], sides: NDArray[np.float64], pairs: Iterable[tuple[int, int]]
) -> set[int]:
    """PDFium's indices of the later ones of the pairs, if they are copies.

    At least three of other text objects must share more than half of their places in the line, and be displaced alike.
    Fewer are a coincidence, e.g. of labels that overlap in a diagram.
    """
    displaced = defaultdict[tuple[int, int], set[int]](set)
    covering = Counter[tuple[int, int]]()
    for earlier, later in set(pairs):
        one, other = placed[earlier].number, placed[later].number
        if _object(text, one) != _object(text, other):
            across, up = (2 * (sides[later] - sides[earlier])[:2]).round().astype(int).tolist()
            displaced[across, up].add(other)
            covering[across, up] += _cover_half(text, one, other)
    return set().union(*(copies for by, copies in displaced.items() if covering[by] >= _FEWEST_COPIES))


def _cover_half(text: pdfium.PdfTextPage, one: int, other: int) -> bool:
    (la, ba, ra, ta), (lb, bb, rb, tb) = text.get_charbox(one, loose=True), text.get_charbox(other, loose=True)
    shared = max(min(ra, rb) - max(la, lb), 0.0) * max(min(ta, tb) - max(ba, bb), 0.0)
    return shared > min((ra - la) * (ta - ba), (rb - lb) * (tb - bb)) / 2


def _object(text: pdfium.PdfTextPage, index: int) -> int:
    """Address of the text object of a character; 0 for one that PDFium has inserted."""
    item = pdfium_c.FPDFText_GetTextObject(text, index)
    return ctypes.addressof(item.contents) if item else 0


def _with_brackets(characters: list[Character]) -> list[Character]:
    """The characters with brackets of right-to-left lines turned back, where PDFium has mirrored them.

    Some files state the bracket that is meant, others the one that is drawn. PDFium mirrors both. In text that is read
    in its order, an opening bracket comes first.
    """
    if max(map(itemgetter(0), characters), default=0) < _FIRST_RIGHT_TO_LEFT:
        return characters
    ends = [number for number, one in enumerate(characters) if chr(one.code) in "\r\n"]
    for start, end in itertools.pairwise([0, *ends, len(characters)]):
        line = characters[start:end]
        if not any(
            unicodedata.bidirectional(chr(one.code)) in _RIGHT_TO_LEFT
            for one in line
            if one.code >= _FIRST_RIGHT_TO_LEFT
        ):
            continue
        brackets = [chr(one.code) for one in line if chr(one.code) in _OPENING | _CLOSING]
        if brackets and brackets[0] in _CLOSING and brackets[-1] in _OPENING:
            characters[start:end] = [one._replace(code=ord(chr(one.code).translate(_MIRRORED))) for one in line]
    return characters
