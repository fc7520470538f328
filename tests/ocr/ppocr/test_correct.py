import string

import numpy as np
import pytest

from layoutray.ocr.lexicon import Lexicon
from layoutray.ocr.ppocr.correct import corrected
from layoutray.ocr.ppocr.ctc import Decoder, Reading
from layoutray.ocr.ppocr.words import LineWord

CLASSES = ("", *string.ascii_letters, *string.digits, *".(:", " ")
LEXICON = Lexicon({"INVOICE": 400, "TOTAL": 500, "JALAN": 90, "ITEM": 5})


def read(*steps: str) -> tuple[list[LineWord], Reading]:
    """A line with one character a step. A step may name two: the first is read with 0.6, the second with 0.35."""
    rows = np.full((2 * len(steps), len(CLASSES)), 1e-4, np.float32)
    for number, step in enumerate(steps):
        for character, score in zip(step, (0.6, 0.35) if len(step) == 2 else (0.99,), strict=True):
            rows[2 * number, CLASSES.index(character)] = score
        rows[2 * number + 1, 0] = 0.99
    reading = Decoder(CLASSES).decode(rows)
    words: list[LineWord] = []
    first = 0
    for text in "".join(step[0] for step in steps).split():
        numbers = range(first, first + len(text))
        confidence = sum(one.confidence for one in reading.characters[first : numbers.stop]) / len(text)
        words.append(LineWord(text, (10.0 * first, 2.0, 10.0 * numbers.stop, 8.0), confidence, numbers))
        first = numbers.stop
    return words, reading


def texts(*steps: str) -> list[str]:
    return [word.text for word in corrected(*read(*steps), LEXICON)]


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (["I", "N", "V", "0O", "I", "C", "E"], "INVOICE"),
        (["(", "j", "a", "l", "a", "un", ":"], "(jalan:"),
        (["T", "o", "t", "a", "1l"], "Total"),
        (["I", "N", "V", "O", "I", "I ", "C", "E"], "INVOICE"),
    ],
)
def test_an_uncertain_word_becomes_the_similar_word_of_the_lexicon(steps: list[str], text: str) -> None:
    assert texts(*steps) == [text]


@pytest.mark.parametrize(
    "steps",
    [
        ["J", "A", "L", "A", "U"],
        ["3", "4", "7", "1l", "0"],
        ["I", "T", "E", "NM", "S"],
        ["x", "yz"],
    ],
)
def test_sure_words_numbers_and_words_without_a_similar_one_stay(steps: list[str]) -> None:
    assert texts(*steps) == ["".join(step[0] for step in steps)]


def test_pieces_of_a_word_are_joined() -> None:
    (word,) = corrected(*read("I", "N", "V", " ", "O", "I", "C", "E"), LEXICON)
    assert (word.text, word.sides, word.characters) == ("INVOICE", (0.0, 2.0, 70.0, 8.0), range(7))
    assert word.confidence == pytest.approx(1, abs=0.1)
    assert texts("N", "o", " ", "w", "a", "y") == ["No", "way"]


def test_no_words() -> None:
    assert corrected([], Decoder(CLASSES).decode(np.zeros((0, len(CLASSES)), np.float32)), LEXICON) == []
