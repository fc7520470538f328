"""Character errors in words, to measure how much a model depends on correct text.

Each character of a word is changed with probability `rate`. A change is, with equal probability, a deletion, a
replacement by another character, or an insertion of a character after it. New characters are drawn from those that the
page prints, so that they occur in the document. The number of words and their boxes do not change: a word that would
lose all its characters keeps its first. The errors are a function of the rate, the document and the page alone, so
that every model reads the same words.
"""

from dataclasses import replace
from random import Random

from layoutray.document.page import Page


def noisy(page: Page, rate: float) -> Page:
    """The page with character errors in its words.

    Args:
        rate: probability that a character is changed, 0..1; 0 returns the page itself.
    """
    letters = sorted({letter for word in page.words for letter in word.text})
    if not rate or not letters:
        return page
    random = Random(f"{rate}/{page.doc_id}/{page.number}")
    texts = (
        "".join(_changed(letter, letters, random) if random.random() < rate else letter for letter in word.text)
        for word in page.words
    )
    words = (replace(word, text=text or word.text[:1]) for word, text in zip(page.words, texts, strict=True))
    return replace(page, words=tuple(words))


def _changed(letter: str, letters: list[str], random: Random) -> str:
    change, other = random.choice(("delete", "replace", "insert")), random.choice(letters)
    if change == "delete":
        return ""
    return other if change == "replace" else letter + other
