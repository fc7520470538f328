"""Errors of one's own OCR, learnt from pages whose words are also annotated, to make training pages with such errors.

Each annotated word is compared with the text that OCR has read at its place. What OCR reads for a character is counted:
the character itself, another one, several, or none. A training page then gets errors with these frequencies. Words that
OCR fuses, splits or does not find are not imitated: the number of words and their boxes stay as they are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from rapidfuzz.distance import Levenshtein

from layoutray.document.page import Page, Word

_MIN_SIMILARITY = 0.5
"""Texts with a lower normalised Levenshtein similarity are not of the same word: the boxes have misled."""
_MIN_COUNT = 20
"""A character that was seen less often is always read right."""


class ReadingErrors:
    """How often each character is read as what. Upper and lower case are one character, and keep their case."""

    def __init__(self) -> None:
        self._readings: dict[str, Counter[str]] = defaultdict(Counter)

    @property
    def characters(self) -> int:
        """Number of compared characters."""
        return sum(sum(readings.values()) for readings in self._readings.values())

    @property
    def rate(self) -> float:
        """Share of the compared characters that were misread; 0 if none was compared."""
        right = sum(readings[letter] for letter, readings in self._readings.items())
        return 1 - right / self.characters if self.characters else 0.0

    def learn(self, annotated: str, read: str) -> None:
        """Count the readings of the characters of one word. Texts that are too different count for nothing."""
        truth, text = annotated.lower(), read.lower()
        if Levenshtein.normalized_similarity(truth, text) < _MIN_SIMILARITY:
            return
        readings = list(truth)
        for change in Levenshtein.editops(truth, text):
            if change.tag == "replace":
                readings[change.src_pos] = text[change.dest_pos]
            elif change.tag == "delete":
                readings[change.src_pos] = ""
            elif change.src_pos:
                readings[change.src_pos - 1] += text[change.dest_pos]
            else:
                readings[0] = text[change.dest_pos] + readings[0]
        for letter, reading in zip(truth, readings, strict=True):
            self._readings[letter][reading] += 1

    def applied(self, page: Page, seed: int) -> Page:
        """The page with errors in its words. A word that would lose all its characters keeps its text."""
        random = Random(f"{seed}/{page.doc_id}/{page.number}")
        texts = ("".join(self._reading(letter, random) for letter in word.text) for word in page.words)
        words = (replace(w, text=text) if text.strip() else w for w, text in zip(page.words, texts, strict=True))
        return replace(page, words=tuple(words))

    def _reading(self, letter: str, random: Random) -> str:
        readings = self._readings.get(letter.lower(), Counter[str]())
        if readings.total() < _MIN_COUNT:
            return letter
        (drawn,) = random.choices([*readings], [*readings.values()])
        if drawn == letter.lower():
            return letter
        return drawn.upper() if letter.isupper() else drawn


def word_pairs(annotated: Sequence[Word], read: Sequence[Word], matches: Sequence[int]) -> Iterable[tuple[str, str]]:
    """The text of each annotated word that has a match, and what was read at its place, from left to right.

    Args:
        matches: index of the annotated word that matches each read word; -1 for none.
    """
    parts: dict[int, list[Word]] = defaultdict(list)
    for word, match in zip(read, matches, strict=True):
        if match >= 0:
            parts[match].append(word)
    for match, words in parts.items():
        yield annotated[match].text, "".join(word.text for word in sorted(words, key=lambda word: word.box.x0))
