import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.ocr.ppocr.ctc import Character, Decoder

CLASSES = ("", "A", "Ä", "1", " ")


def line(*steps: str, sure: float = 0.9) -> np.ndarray:
    """Probabilities (steps, classes) whose best class at each step is the given one; `_` is the blank."""
    rows = [[sure if text == step.replace("_", "") else (1 - sure) / 4 for text in CLASSES] for step in steps]
    return np.array(rows, np.float32)


def test_repeats_are_one_character_and_a_blank_separates_two() -> None:
    found = Decoder(CLASSES).decode(line("A", "A", "_", "A", "1", "1"))
    assert "".join(character.text for character in found.characters) == "AA1"
    assert [found.column(character) for character in found.characters] == pytest.approx([1 / 6, 3.5 / 6, 5 / 6])
    assert [found.steps_around(range(at, at + 1)) for at in range(3)] == [slice(0, 3), slice(2, 4), slice(4, 6)]


def test_a_space_is_known_at_the_character_after_it() -> None:
    first, second, third = Decoder(CLASSES).decode(line("A", " ", "1", "_", "A")).characters
    assert first.space_before == 0
    assert second.space_before == pytest.approx(0.9)
    assert third.space_before < 0.1


def test_characters_outside_the_alphabet_give_way_to_the_best_inside() -> None:
    scores = line("Ä", "_", "1")
    scores[0, 1] = 0.08
    assert [one.text for one in Decoder(CLASSES).decode(scores).characters] == ["Ä", "1"]
    letter, digit = Decoder(CLASSES, "A1 ").decode(scores).characters
    assert (letter.text, digit.text) == ("A", "1")
    assert letter.confidence == pytest.approx(0.08 / (0.08 + 3 * 0.025), abs=0.02)


def test_a_line_of_blanks_has_no_characters() -> None:
    assert Decoder(CLASSES).decode(line("_", "_")).characters == []
    assert Decoder(CLASSES).decode(line("_", "_")).confidence == 0
    assert Decoder(CLASSES).decode(np.zeros((0, 5), np.float32)).characters == []


def test_confidence_is_that_of_the_surest_step() -> None:
    scores = np.concatenate([line("1", sure=0.5), line("1", sure=0.8)])
    reading = Decoder(CLASSES).decode(scores)
    assert reading.characters == [Character(text="1", start=0, end=2, confidence=pytest.approx(0.8), space_before=0.0)]
    assert reading.confidence == pytest.approx(0.8)
    assert reading.with_confidence(0.6).confidence == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("step", "changed"),
    [(0, {"A": 0.6, "Ä": 0.4}), (1, {"": 0.6, "1": 0.4}), (1, {"": 6 / 7, " ": 1 / 7}), (3, {"": 0.6, "1": 0.4})],
    ids=["another character", "a character between two", "a space", "a character at the end"],
)
def test_certainty_is_that_of_the_least_certain_decision(step: int, changed: dict[str, float]) -> None:
    scores = line("A", "_", "Ä", "_", sure=1.0)
    assert Decoder(CLASSES).decode(scores).certainty == 1.0
    scores[step] = [changed.get(text, 0.0) for text in CLASSES]
    assert Decoder(CLASSES).decode(scores).certainty == pytest.approx(0.6)


def test_a_character_that_lasts_makes_nothing_less_certain() -> None:
    scores = line("A", "_", "Ä", "_", sure=1.0)
    scores[1] = [0.6, 0.2, 0.2, 0, 0]
    assert Decoder(CLASSES).decode(scores).certainty == 1.0
    assert Decoder(CLASSES).decode(line("_", "_")).certainty == 0.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.text("A1", max_size=3))
def test_the_probability_of_a_text_is_that_of_all_its_alignments(seed: int, steps: int, text: str) -> None:
    scores = np.random.default_rng(seed).dirichlet(np.ones(len(CLASSES)), steps).astype(np.float32)
    reading = Decoder(CLASSES).decode(scores)
    expected = 0.0
    for alignment in itertools.product(range(len(CLASSES)), repeat=steps):
        if "".join(CLASSES[one] for one, _ in itertools.groupby(alignment)) == text:
            expected += math.prod(float(scores[step, one]) for step, one in enumerate(alignment))
    found = math.exp(reading.log_probability(text, slice(0, steps)))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_only_characters_of_the_alphabet_can_be_spelled() -> None:
    reading = Decoder(CLASSES, "A1 ").decode(line("A"))
    assert reading.can_spell("A1")
    assert not reading.can_spell("Ä")


@pytest.mark.parametrize(("dotless", "expected"), [(0.02, "ı"), (0.001, "i")])
def test_an_i_that_may_well_have_no_dot_has_none(dotless: float, expected: str) -> None:
    scores = np.array([[0.1, 0.89, dotless, 0.0]], np.float32)
    assert Decoder(("", "i", "ı", " ")).decode(scores).text == expected
    assert Decoder(("", "i", "ı", " "), "i ").decode(scores).text == "i"
