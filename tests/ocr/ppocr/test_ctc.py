import numpy as np
import pytest

from layoutray.ocr.ppocr.ctc import Character, Decoder

CLASSES = ("", "A", "Ä", "1", " ")


def line(*steps: str, sure: float = 0.9) -> np.ndarray:
    """Probabilities (steps, classes) whose best class at each step is the given one; `_` is the blank."""
    rows = [[sure if text == step.replace("_", "") else (1 - sure) / 4 for text in CLASSES] for step in steps]
    return np.array(rows, np.float32)


def test_repeats_are_one_character_and_a_blank_separates_two() -> None:
    found = Decoder(CLASSES).decode(line("A", "A", "_", "A", "1", "1"))
    assert "".join(character.text for character in found) == "AA1"
    assert [character.column for character in found] == pytest.approx([1 / 6, 3.5 / 6, 5 / 6])


def test_a_space_is_known_at_the_character_after_it() -> None:
    first, second, third = Decoder(CLASSES).decode(line("A", " ", "1", "_", "A"))
    assert first.space_before == 0
    assert second.space_before == pytest.approx(0.9)
    assert third.space_before < 0.1


def test_characters_outside_the_alphabet_give_way_to_the_best_inside() -> None:
    scores = line("Ä", "_", "1")
    scores[0, 1] = 0.08
    assert [one.text for one in Decoder(CLASSES).decode(scores)] == ["Ä", "1"]
    letter, digit = Decoder(CLASSES, "A1 ").decode(scores)
    assert (letter.text, digit.text) == ("A", "1")
    assert letter.confidence == pytest.approx(0.08 / (0.08 + 3 * 0.025), abs=0.02)


def test_a_line_of_blanks_has_no_characters() -> None:
    assert Decoder(CLASSES).decode(line("_", "_")) == []
    assert Decoder(CLASSES).decode(np.zeros((0, 5), np.float32)) == []


def test_confidence_is_that_of_the_surest_step() -> None:
    scores = np.concatenate([line("1", sure=0.5), line("1", sure=0.8)])
    assert Decoder(CLASSES).decode(scores) == [Character("1", 0.5, pytest.approx(0.8), 0.0)]
