"""Words of a PDF page, made of the characters of its text layer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr.characters import SOFT_HYPHEN, Characters
from layoutray.ocr.pdf import ToPageSides

_SKIPPED, _LETTER, _SPACE, _NEW_LINE = range(4)


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


def split(found: Characters, to_page_sides: ToPageSides) -> TextWords:
    """The words that have a box on the page."""
    kind_of = {code: _kind(chr(code)) for code in np.unique(found.codes).tolist()}
    kinds = np.array([kind_of[code] for code in found.codes.tolist()], dtype=np.int64)
    kinds[(kinds == _SKIPPED) & found.undecodable & (found.codes >= ord(" "))] = _LETTER
    hyphens = found.codes == SOFT_HYPHEN  # one ends its word, but is part of it
    is_letter = (kinds == _LETTER) | hyphens
    ends, new_lines = (kinds >= _SPACE) | hyphens, (kinds == _NEW_LINE) | hyphens
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
        return _NEW_LINE if letter in "\r\n" else _SPACE
    return _LETTER if letter.isprintable() else _SKIPPED
