"""The characters of a PDF page, as PDFium gives them, each painted one once, and the words that they form."""

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr import calls
from layoutray.ocr.pdf import ToPageSides

_SKIPPED, _LETTER, _BLANK, _NEW_LINE = range(4)
SOFT_HYPHEN = 2
"""PDFium's code for a hyphen at the end of a line."""
_REPLACEMENT = 0xFFFD
_SPACE = 0x20
_SURROGATES = 0xD800
_PRIVATE = 0xE000
_LAST = 0x10FFFF
_SPACES = list(b"\t\n\r\v\f \xa0")
_CELL = 8.0
"""Points. A copy of a letter, painted beside it as a shadow or to make it bold, is at most half as far away."""
_EQUAL_IN_CELL = 4
"""Most equal characters of a cell of this size that are compared."""
_FEWEST_COPIES = 3
_SHORT_WORDS = re.compile(r"^(?=(?: ?[^\W\d_]){5})[^\W\d_]{1,6}(?: [^\W\d_]{1,6})+(?=\r?$)", re.MULTILINE)
"""A line of at least five letters; PDFium puts some letters of a spaced-out word together."""
_LEAST_GAP = 0.2
"""Usual gap, in heights of the letters, of a text whose letters are spaced out."""
_WIDER = 1.8
"""Usual gaps; a wider one is between words."""
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = frozenset("([{<«‹"), frozenset(")]}>»›")
_RIGHT_TO_LEFT = ("R", "AL")
_FIRST_RIGHT_TO_LEFT = 0x590


@dataclass(frozen=True, slots=True)
class Characters:
    """Characters in the order of the text layer.

    Attributes:
        codes: Unicode code points, (n,).
        numbers: PDFium's indices of them on the page, (n,).
        undecodable: they have no Unicode mapping, or one to a code that is no text, (n,).
        sides: left, bottom, right and top in PDF coordinates, (n, 4); NaN where a character has no place, e.g. a space.
    """

    codes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    undecodable: NDArray[np.bool_]
    sides: NDArray[np.float64]

    def only(self, kept: NDArray[np.bool_]) -> "Characters":
        return Characters(self.codes[kept], self.numbers[kept], self.undecodable[kept], self.sides[kept])

    @property
    def text(self) -> str:
        """One character for each code."""
        return self.codes.astype("<u4").tobytes().decode("utf-32-le")


def read(text: pdfium.PdfTextPage) -> Characters:
    """The characters of a page, without copies and spaces in spaced-out words, with brackets as they are written."""
    return _with_brackets(_joined(text, _once(text, _characters(text))))


def _characters(text: pdfium.PdfTextPage) -> Characters:
    page, count = calls.address_of(text), text.count_chars()
    codes, numbers = _code_points([calls.code_at(page, index) for index in range(count)])
    printed = np.flatnonzero(~np.isin(codes, _SPACES))  # the place and mapping of others do not matter
    sides = np.full((len(codes), 4), np.nan)
    indices = numbers[printed].tolist()
    sides[printed] = calls.character_boxes(page, indices)
    unmapped = np.zeros(len(codes), dtype=np.bool_)
    unmapped[printed] = [calls.lacks_unicode(page, index) == 1 for index in indices]
    odd = printed[unmapped[printed] | (codes[printed] < _SPACE) | (codes[printed] >= _PRIVATE)]
    for number, code in zip(odd.tolist(), codes[odd].tolist(), strict=True):
        # An unmapped control character stands for a sign that is shown, a mapped one mostly for nothing.
        if code == 0 or (unmapped[number] and code < _SPACE and _is_no_text(code)):
            codes[number] = _REPLACEMENT
        unmapped[number] |= _is_no_text(code)
    return Characters(codes, numbers, unmapped, sides)


def _code_points(units: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes and indices of characters. PDFium gives UTF-16 units; two surrogates are one character."""
    codes, numbers = np.array(units, dtype=np.int64), np.arange(len(units))
    is_high = (codes >= _SURROGATES) & (codes < 0xDC00)
    is_low = (codes >= 0xDC00) & (codes < _PRIVATE)
    first = np.flatnonzero(is_high[:-1] & is_low[1:])
    joined = 0x10000 + ((codes[first] - _SURROGATES) << 10) + codes[first + 1] - 0xDC00
    codes[is_high | is_low | (codes > _LAST) | (codes == 0xFFFE) | (codes == 0xFFFF)] = _REPLACEMENT
    codes[first] = joined
    return np.delete(codes, first + 1), np.delete(numbers, first + 1)


def _is_no_text(code: int) -> bool:
    """Whether the code is for private use, or a control character: the trace of a wrong table of Unicode values."""
    if 0 < code < _SPACE:
        return code not in (SOFT_HYPHEN, *_SPACES)
    return code in (0, _REPLACEMENT) or _PRIVATE <= code <= 0xF8FF or code >= 0xF0000


def _once(text: pdfium.PdfTextPage, characters: Characters) -> Characters:
    """The characters without those that were painted again on, or a little beside, an equal one."""
    placed = characters.only(~np.isnan(characters.sides[:, 0]))
    copies = _copies(text, placed, _near_pairs(placed, 0.0, 0.0))
    if not copies:
        return characters
    # Some copies lie on another side of a line of the grid.
    near = (_near_pairs(placed, *shift) for shift in itertools.product((0.0, 0.5), repeat=2))
    copies = _copies(text, placed, itertools.chain.from_iterable(near))
    return characters.only(~np.isin(characters.numbers, list(copies)))


def _near_pairs(placed: Characters, right: float, up: float) -> Iterator[tuple[int, int]]:
    """Pairs of equal characters of one size nearly in one place, in a grid shifted by shares of a cell."""
    middles = (placed.sides[:, :2] + placed.sides[:, 2:]) / 2
    cells = np.floor(middles / _CELL + (right, up)).astype(np.int64)
    keys = ((cells[:, 0] << 20) + cells[:, 1] << 21) + placed.codes
    order = np.argsort(keys, kind="stable")
    for distance in range(1, _EQUAL_IN_CELL):
        same = np.flatnonzero(keys[order[distance:]] == keys[order[:-distance]])
        earlier, later = order[same], order[same + distance]
        sizes, others = (placed.sides[these, 2:] - placed.sides[these, :2] for these in (earlier, later))
        apart, height = np.abs(middles[earlier] - middles[later]), sizes[:, 1:]
        near = ((apart < height / 2) & (np.abs(sizes - others) < height / 10)).all(axis=1)
        yield from zip(earlier[near].tolist(), later[near].tolist(), strict=True)


def _copies(text: pdfium.PdfTextPage, placed: Characters, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """PDFium's indices of the later ones of the pairs, if they are copies.

    At least three of other text objects must share more than half of their places in the line, and be displaced alike.
    Fewer are a coincidence, e.g. of labels that overlap in a diagram.
    """
    displaced = defaultdict[tuple[int, int], set[int]](set)
    covering = Counter[tuple[int, int]]()
    for earlier, later in set(pairs):
        one, other = int(placed.numbers[earlier]), int(placed.numbers[later])
        if len(set(calls.text_objects(text, (one, other)))) > 1:
            across, up = (2 * (placed.sides[later] - placed.sides[earlier])[:2]).round().astype(int).tolist()
            displaced[across, up].add(other)
            covering[across, up] += _cover_half(text, one, other)
    return set().union(*(copies for by, copies in displaced.items() if covering[by] >= _FEWEST_COPIES))


def _cover_half(text: pdfium.PdfTextPage, one: int, other: int) -> bool:
    (la, ba, ra, ta), (lb, bb, rb, tb) = text.get_charbox(one, loose=True), text.get_charbox(other, loose=True)
    shared = max(min(ra, rb) - max(la, lb), 0.0) * max(min(ta, tb) - max(ba, bb), 0.0)
    return shared > min((ra - la) * (ta - ba), (rb - lb) * (tb - bb)) / 2


def _joined(text: pdfium.PdfTextPage, characters: Characters) -> Characters:
    """The characters without the spaces that PDFium inserts between letters that are placed one by one, spaced out.

    A gap that is wider than the others is one between words.
    """
    kept = np.ones(len(characters.codes), dtype=np.bool_)
    for run in _SHORT_WORDS.finditer(characters.text):
        letters = run.start() + np.flatnonzero([letter != " " for letter in run[0]])
        left, bottom, right, top = characters.sides[letters].T
        gaps, height = left[1:] - right[:-1], (top - bottom).max()
        usual = np.median(gaps)
        numbers = characters.numbers[letters].tolist()
        if not _LEAST_GAP * height < usual < height or len(set(calls.text_objects(text, numbers))) < len(letters):
            continue
        for space in letters[:-1][(np.diff(letters) == 2) & (gaps < _WIDER * usual)] + 1:
            kept[space] = calls.is_inserted(calls.address_of(text), int(characters.numbers[space])) != 1
    return characters if kept.all() else characters.only(kept)


def _with_brackets(characters: Characters) -> Characters:
    """The characters with brackets of right-to-left lines turned back, where PDFium has mirrored them.

    Some files state the bracket that is meant, others the one that is drawn. PDFium mirrors both. In text that is read
    in its order, an opening bracket comes first.
    """
    if (characters.codes >= _FIRST_RIGHT_TO_LEFT).any():
        for line in re.finditer(r"[^\r\n]+", characters.text):
            brackets = [letter for letter in line[0] if letter in _OPENING | _CLOSING]
            mirrored = brackets and brackets[0] in _CLOSING and brackets[-1] in _OPENING
            if mirrored and any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in line[0]):
                characters.codes[line.start() : line.end()] = list(map(ord, line[0].translate(_MIRRORED)))
    return characters


@dataclass(frozen=True, slots=True)
class TextWords:
    """Words in the order of the text layer.

    Attributes:
        words: with lines, without blocks.
        characters: those of all words.
        sides: left, top, right and bottom of the words, relative to the page, (n, 4).
        spans: ranges of `characters`, (n, 2): the first of each word, and the one after its last.
    """

    words: list[Word]
    characters: Characters
    sides: NDArray[np.float64]
    spans: NDArray[np.int64]


def words_of(found: Characters, to_page_sides: ToPageSides) -> TextWords:
    """The words that have a box on the page."""
    kind_of = {code: _kind(chr(code)) for code in np.unique(found.codes).tolist()}
    kinds = np.array([kind_of[code] for code in found.codes.tolist()], dtype=np.int64)
    kinds[(kinds == _SKIPPED) & found.undecodable & (found.codes >= ord(" "))] = _LETTER
    hyphens = found.codes == SOFT_HYPHEN  # one ends its word, but is part of it
    is_letter = (kinds == _LETTER) | hyphens
    ends, new_lines = (kinds >= _BLANK) | hyphens, (kinds == _NEW_LINE) | hyphens
    places = np.cumsum(ends)[is_letter] - ends[is_letter]
    lines = (np.cumsum(new_lines) - new_lines)[is_letter]
    characters = found.only(is_letter)
    text = characters.text.replace(chr(SOFT_HYPHEN), "-")
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    spans = np.stack([firsts, np.append(firsts[1:], len(places))], axis=1) if len(firsts) else np.empty((0, 2), int)
    low, high = np.fmin.reduceat(characters.sides, firsts), np.fmax.reduceat(characters.sides, firsts)
    sides = to_page_sides(np.concatenate([low[:, :2], high[:, 2:]], axis=1))
    placed = ~np.isnan(sides[:, 0])
    sides, spans, lines = sides[placed], spans[placed], lines[firsts][placed]
    words = [
        Word(text=text[first:end], box=Box(*box), line=line)
        for (first, end), box, line in zip(spans.tolist(), sides.tolist(), lines.tolist(), strict=True)
    ]
    return TextWords(words, characters, sides, spans)


def _kind(letter: str) -> int:
    if letter.isspace():
        return _NEW_LINE if letter in "\r\n" else _BLANK
    return _LETTER if letter.isprintable() else _SKIPPED
