import string
from collections.abc import Sequence

import numpy as np
import pytest

from layoutray.ocr.ppocr.ctc import Decoder, Reading
from layoutray.ocr.ppocr.lookalikes import resolved
from layoutray.ocr.ppocr.words import LineWord

CLASSES = ("", *string.ascii_letters, *string.digits, *".,:/$%-()@", " ")
ALTERNATIVES = {
    "0": "OoQ",
    "1": "lI",
    "O": "0",
    "C": "0",
    "Z": "2%",
    "S": "$5",
    "B": "8",
    "7": "%",
    "I": "1li",
    "5": "S",
    "8": "B",
}


def read(text: str, other: float) -> tuple[list[LineWord], Reading]:
    """A line of one word. Each character that looks like others is read with 0.6, and its others with `other`."""
    rows = np.full((2 * len(text), len(CLASSES)), 1e-6, np.float32)
    for number, character in enumerate(text):
        rows[2 * number, [CLASSES.index(one) for one in ALTERNATIVES.get(character, "")]] = other
        rows[2 * number, CLASSES.index(character)] = 0.6
        rows[2 * number + 1, 0] = 0.99
    reading = Decoder(CLASSES).decode(rows)
    return [LineWord(text, (0, 0, 1, 1), 0.9, range(len(text)))], reading


def resolve(text: str, other: float = 0.07) -> str:
    (word,) = resolved(*read(text, other))
    return word.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INV0ICE", {"INVOICE", "INVoICE", "INVQICE"}),
        ("Te1:03-7710", {"Tel:03-7710", "TeI:03-7710"}),
        ("7,J1n", {"7,Jln", "7,JIn"}),
        ("106.1C", {"106.10"}),
        ("4330O", {"43300"}),
        ("1802B/103", {"18028/103"}),
        ("S8.20", {"$8.20", "58.20"}),
        ("@6Z", {"@6%"}),
        ("67", {"6%"}),
        ("5/B", {"S/B"}),
        ("(S/8)", {"(S/B)"}),
        ("BIk", {"Blk"}),
        ("TIme", {"Tlme", "Time"}),
    ],
)
def test_a_character_becomes_one_that_fits_its_neighbours(text: str, expected: set[str]) -> None:
    assert resolve(text) in expected


@pytest.mark.parametrize(
    "text",
    [
        "RM0.50",
        "S/B",
        "B003",
        "2017",
        "12/07",
        "26.07",
        "15/4B",
        "A4",
        "Room",
        "I00100",
        "SR:8PCS",
        "40DBC",
        "----",
        "5/8",
        "5/8/B",
        "Inv",
        "MIA",
    ],
)
def test_codes_units_amounts_and_dates_stay(text: str) -> None:
    assert resolve(text) == text


@pytest.mark.parametrize("text", ["INV0ICE", "106.1C", "S8.20", "67", "5/F", "5/B", "TaxInv"])
def test_a_character_that_the_line_shows_clearly_stays(text: str) -> None:
    assert resolve(text, other=1e-4) == text


def test_a_digit_at_the_end_of_a_name_needs_higher_scores() -> None:
    assert resolve("Room0", other=0.04) == "Room0"
    assert resolve("R0om", other=0.04) != "R0om"


def test_boxes_confidences_and_empty_lines_stay() -> None:
    words, reading = read("INV0ICE", 0.05)
    (word,) = resolved(words, reading)
    assert (word.sides, word.confidence, word.characters) == ((0, 0, 1, 1), 0.9, range(7))
    empty: Sequence[LineWord] = ()
    assert resolved(empty, reading) == []
