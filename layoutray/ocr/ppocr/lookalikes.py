"""Decide by their neighbours between letters, digits and signs that look alike.

Many fonts draw `0` and `O`, `1` and `l`, `S` and `$`, or `7` and `%` almost alike. Their neighbours say which is
likelier: `Te1` is a word, `43.3O` an amount. A text is changed if the line's scores make the other one nearly as
likely.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from layoutray.ocr.ppocr.ctc import Reading
from layoutray.ocr.ppocr.words import LineWord

_LETTERS: Mapping[str, str] = {"0": "OoQ", "1": "Iil"}
_DIGITS: Mapping[str, str] = {
    letter: digit
    for digit, letters in {"0": "OoQDCU", "1": "Iil", "2": "Zz", "5": "Ss", "8": "B"}.items()
    for letter in letters
}
_ABBREVIATED: Mapping[str, str] = {"0": "O", "1": "I", "5": "S", "8": "B"}
"""The capital letter that each digit may be in an abbreviation such as `S/B`."""
_ODDS, _ODDS_AT_END = math.log(30), math.log(10)
"""How much likelier a text is whose parts agree, as logarithms. Names do end in digits: `Guest1`."""
_RATE = re.compile(r"(?<!\w)(?<!\d[.,:/-])\d{1,2}[7Zz]$")
_DOLLARS = re.compile(r"(?<!\w)S\d+[.,]\d\d(?!\w)")
_CAPITAL_I = re.compile(r"(?<=[^\W\d_])I(?=[a-z])")
_ABBREVIATION = re.compile(r"(?<![\w/])[^\W_]/[^\W_](?![\w/])")
_NUMBER = re.compile(r"(?<!\w)\d\w*(?:[.,]\w+)*")
_WORD = re.compile(r"(?<!\w)(?!(?<=\d[.,])\d)\w{2,}(?![.,]\d)")
_MOST = 64
"""Most texts that are compared; a word with more has too many doubtful characters."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Other texts of the same length for a part of a word, and how much likelier they are by their neighbours."""

    start: int
    texts: Sequence[str]
    odds: float


def resolved(words: Sequence[LineWord], reading: Reading) -> list[LineWord]:
    """The words of a line, with characters replaced by others that look alike and fit their neighbours better."""
    found: list[LineWord] = []
    for word in words:
        found.append(word)
        for doubts in (_rates, _dollars, _abbreviations, _numbers, _words, _capitals):
            for doubt in doubts(found[-1].text):
                found[-1] = replace(found[-1], text=_likeliest(found[-1], doubt, reading))
    return found


def _likeliest(word: LineWord, doubt: _Doubt, reading: Reading) -> str:
    before, after = word.text[: doubt.start], word.text[doubt.start + len(doubt.texts[0]) :]
    steps = reading.steps_around(word.characters)
    scores = {
        text: reading.log_probability(text, steps) + doubt.odds
        for text in (before + part + after for part in doubt.texts)
        if reading.can_spell(text)
    }
    scores[word.text] = reading.log_probability(word.text, steps)
    return max(scores, key=scores.__getitem__)


def _rates(text: str) -> Iterator[_Doubt]:
    """`67` may be `6%`."""
    if match := _RATE.search(text):
        yield _Doubt(match.start(), [match[0][:-1] + "%"], _ODDS)


def _dollars(text: str) -> Iterator[_Doubt]:
    """`S8.20` may be `$8.20` or `58.20`."""
    for match in _DOLLARS.finditer(text):
        yield _Doubt(match.start(), [sign + match[0][1:] for sign in "$5"], _ODDS)


def _abbreviations(text: str) -> Iterator[_Doubt]:
    """`5/B` may be `S/B`. Two digits are left alone: they are a fraction or a date."""
    for match in _ABBREVIATION.finditer(text):
        if match[0][0].isalpha() != match[0][2].isalpha():
            choices = [_ABBREVIATED.get(one, "") if one.isdigit() else one for one in match[0]]
            yield from _doubt(match.start(), choices, _ODDS)


def _numbers(text: str) -> Iterator[_Doubt]:
    """`106.1C` may be `106.10`. Codes begin with letters, so that a number begins with a digit."""
    for match in _NUMBER.finditer(text):
        digits, others = sum(map(str.isdigit, match[0])), sum(map(str.isalpha, match[0]))
        if others and digits >= 2 * others:
            choices = [_DIGITS.get(one, "") if one.isalpha() else one for one in match[0]]
            yield from _doubt(match.start(), choices, _ODDS)


def _words(text: str) -> Iterator[_Doubt]:
    """`Te1` may be `Tel`."""
    for match in _WORD.finditer(text):
        digits, letters = sum(map(str.isdigit, match[0])), sum(map(str.isalpha, match[0]))
        if letters >= digits > 0:
            choices = [_LETTERS.get(one, "") if one.isdigit() else one for one in match[0]]
            yield from _doubt(match.start(), choices, _ODDS_AT_END if match[0][-1].isdigit() else _ODDS)


def _capitals(text: str) -> Iterator[_Doubt]:
    """`BIk` may be `Blk`, and `TIme` may be `Time`. After a small letter, as in `TaxInv`, a word may begin."""
    if match := _CAPITAL_I.search(text):
        choices = "li" if text[match.start() - 1].isupper() else "l"
        yield _Doubt(0, [_CAPITAL_I.sub(small, text) for small in choices], _ODDS)


def _doubt(start: int, choices: Sequence[str], odds: float) -> Iterator[_Doubt]:
    """The texts with one of the characters of each choice; none if a choice is empty."""
    if 0 < math.prod(map(len, choices)) <= _MOST:
        yield _Doubt(start, ["".join(text) for text in product(*choices)], odds)
