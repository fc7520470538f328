"""Decide between similar words by the line's scores and a lexicon of one's own documents.

The score of a text is its log-probability in the line plus those of its words in the lexicon.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from layoutray.ocr.lexicon import Lexicon
from layoutray.ocr.ppocr.ctc import SPACE, Reading
from layoutray.ocr.ppocr.words import LineWord

_SURE = 0.98
"""A word whose characters all have at least this confidence is not changed."""
_CORE = re.compile(r"[^\W_](?:.*[^\W_])?", re.S)
"""A word without surrounding punctuation."""
_DIGITS = 1 / 3
"""Largest share of digits in a word that may be changed. Numbers are not: every digit counts."""


def corrected(words: Sequence[LineWord], reading: Reading, lexicon: Lexicon) -> list[LineWord]:
    """The words of a line, with pieces of words of the lexicon joined, and uncertain words replaced by similar ones."""
    joined: list[LineWord] = []
    for word in words:
        if joined and (whole := _whole(joined[-1], word, reading, lexicon)):
            joined[-1] = whole
        else:
            joined.append(word)
    return [_replaced(word, reading, lexicon) for word in joined]


def _whole(left: LineWord, right: LineWord, reading: Reading, lexicon: Lexicon) -> LineWord | None:
    """The word of the lexicon of which two words are pieces; None if they are words of their own."""
    text, parts = left.text + right.text, [_core(word.text) for word in (left, right)]
    whole = _core(text)
    if whole not in lexicon or not all(part.isalpha() for part in parts):
        return None
    letters = range(left.characters.start, right.characters.stop)
    steps = reading.steps_around(letters)
    apart = sum(map(lexicon.log_probability, parts)) + reading.log_probability(left.text + SPACE + right.text, steps)
    if lexicon.log_probability(whole) + reading.log_probability(text, steps) <= apart:
        return None
    (x0, y0, _, y1), (_, top, x1, bottom) = left.sides, right.sides
    confidence = (left.confidence * len(left.text) + right.confidence * len(right.text)) / len(letters)
    return LineWord(text, (x0, min(y0, top), x1, max(y1, bottom)), confidence, letters)


def _replaced(word: LineWord, reading: Reading, lexicon: Lexicon) -> LineWord:
    """The word, or the similar word of the lexicon with the best score."""
    core = _core(word.text)
    characters = reading.characters[word.characters.start : word.characters.stop]
    is_sure = min(character.confidence for character in characters) >= _SURE
    if is_sure or len(core) < 3 or sum(map(str.isdigit, core)) > _DIGITS * len(core):
        return word
    steps = reading.steps_around(word.characters)
    before, _, after = word.text.upper().partition(core)
    before, after = word.text[: len(before)], word.text[len(word.text) - len(after) :]
    texts = {known: before + _with_case(known, word.text) + after for known in lexicon.similar(core)}
    scores = {
        text: lexicon.log_probability(known) + reading.log_probability(text, steps)
        for known, text in texts.items()
        if reading.can_spell(text)
    }
    scores[word.text] = lexicon.log_probability(core) + reading.log_probability(word.text, steps)
    return replace(word, text=max(scores, key=scores.__getitem__))


def _core(text: str) -> str:
    """The text in upper case without surrounding punctuation."""
    match = _CORE.search(text.upper())
    return match[0] if match else ""


def _with_case(word: str, like: str) -> str:
    """A word in upper case, written as `like`: in lower case, with a capital, or in upper case."""
    letters = "".join(filter(str.isalpha, like))
    if letters[1:].islower():
        return word.capitalize() if letters[0].isupper() else word.lower()
    return word
