from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.ocr.ppocr.ctc import Character, Reading
from layoutray.ocr.ppocr.words import words_of

HEIGHT = 20


def drawn(*bars: tuple[int, int], width: int = 200) -> np.ndarray:
    """A white line with a black bar from `start` to `end` for each character, 10 pixels high."""
    line = np.full((HEIGHT, width), 255, np.uint8)
    for start, end in bars:
        line[5:15, start:end] = 0
    return line


def characters(text: str, *bars: tuple[int, int], spaces: tuple[int, ...] = (), width: int = 200) -> Reading:
    """One character over each bar; `spaces` numbers the characters that have a space before them."""
    found = [
        Character(text=letter, start=start, end=end, confidence=0.5, space_before=0.9 if number in spaces else 0.0)
        for number, (letter, (start, end)) in enumerate(zip(text, bars, strict=True))
    ]
    return Reading(found, np.zeros((width, 1), np.float32), {})


def test_a_space_separates_words_whose_boxes_fit_the_ink() -> None:
    bars = (10, 20), (22, 32), (40, 50)
    first, second = words_of(characters("ab1", *bars, spaces=(2,)), drawn(*bars))
    assert (first.text, second.text, first.confidence) == ("ab", "1", 0.5)
    assert (first.characters, second.characters) == (range(2), range(2, 3))
    assert first.sides == pytest.approx((9, 4, 33, 16)), "a tenth of the ink's height around it"
    assert second.sides == pytest.approx((39, 4, 51, 16))


def test_a_wide_blank_separates_words_without_a_space() -> None:
    near, far = ((10, 20), (22, 32), (41, 51)), ((10, 20), (22, 32), (43, 53))
    assert [word.text for word in words_of(characters("ab1", *near), drawn(*near))] == ["ab1"]
    assert [word.text for word in words_of(characters("ab1", *far), drawn(*far))] == ["ab", "1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BHD(72-M)", ["BHD", "(72-M)"]),
        ("name(s):a", ["name(s):a"]),
        ("9(123)", ["9(123)"]),
        ("a((b)cde", ["a((b)cde"]),
    ],
)
def test_a_bracket_around_several_characters_is_a_word(text: str, words: list[str]) -> None:
    bars = tuple((12 * at, 12 * at + 10) for at in range(len(text)))
    assert [word.text for word in words_of(characters(text, *bars), drawn(*bars))] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Date:10/10/17", ["Date:", "10/10/17"]),
        ("a:1b:2", ["a:", "1b:", "2"]),
        ("20:58", ["20:58"]),
        (":5", [":5"]),
        ("a:b", ["a:b"]),
    ],
)
def test_a_digit_after_a_label_with_a_colon_begins_a_word(text: str, words: list[str]) -> None:
    bars = tuple((12 * at, 12 * at + 10) for at in range(len(text)))
    assert [word.text for word in words_of(characters(text, *bars), drawn(*bars))] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RM20. 40", ["RM20.40"]),
        ("a 71 .00", ["a", "71.00"]),
        ("1,5. 25", ["1,5.25"]),
        ("38. 39 a", ["38.", "39", "a"]),
        ("1. 250", ["1.", "250"]),
        ("No. 12", ["No.", "12"]),
    ],
)
def test_a_space_in_the_amount_at_the_end_of_a_line_separates_nothing(text: str, words: list[str]) -> None:
    letters = text.replace(" ", "")
    spaces = tuple(at - text[:at].count(" ") for at in range(1, len(text)) if text[at - 1] == " ")
    bars = tuple((12 * at, 12 * at + 10) for at in range(len(letters)))
    assert [word.text for word in words_of(characters(letters, *bars, spaces=spaces), drawn(*bars))] == words


def test_decimals_far_from_their_number_are_a_word() -> None:
    bars = (10, 20), (22, 32), (34, 44), (94, 104), (106, 116)
    assert [word.text for word in words_of(characters("20.40", *bars, spaces=(3,)), drawn(*bars))] == ["20.", "40"]


def test_light_ink_on_a_dark_line_is_found_too() -> None:
    bars = (10, 20), (40, 50)
    dark = words_of(characters("ab", *bars, spaces=(1,)), drawn(*bars))
    assert words_of(characters("ab", *bars, spaces=(1,)), 255 - drawn(*bars)) == dark


def test_characters_that_touch_are_cut_in_the_middle() -> None:
    first, second = words_of(characters("ab", (10, 20), (20, 30), spaces=(1,)), drawn((10, 30)))
    assert (first.sides[2], second.sides[0]) == pytest.approx((21, 19))


def test_a_word_beyond_the_last_column_has_a_box() -> None:
    found = [
        Character(text="a", start=4, end=6, confidence=0.5, space_before=0.0),
        Character(text="b", start=200, end=200, confidence=0.5, space_before=0.9),
    ]
    words = words_of(Reading(found, np.zeros((200, 1), np.float32), {}), drawn((0, 12)))
    assert [word.text for word in words] == ["a", "b"]
    assert np.isfinite([side for word in words for side in word.sides]).all()


def test_a_line_without_ink_or_characters() -> None:
    blank = np.full((HEIGHT, 200), 255, np.uint8)
    assert words_of(characters(""), blank) == []
    (word,) = words_of(characters("a", (90, 110)), blank)
    assert word.sides[1] <= 0
    assert word.sides[3] >= HEIGHT


@given(st.lists(st.tuples(st.integers(3, 12), st.integers(1, 30), st.booleans()), min_size=1, max_size=12))
def test_no_character_is_lost_and_words_go_from_left_to_right(shapes: list[tuple[int, int, bool]]) -> None:
    bars: list[tuple[int, int]] = []
    for wide, gap, _ in shapes:
        start = (bars[-1][1] if bars else 0) + gap
        bars.append((start, start + wide))
    text = "".join(chr(97 + number) for number in range(len(bars)))
    spaces = tuple(number for number, (_, _, space) in enumerate(shapes) if space)
    width = bars[-1][1] + 10
    words = words_of(characters(text, *bars, spaces=spaces, width=width), drawn(*bars, width=width))
    assert "".join(word.text for word in words) == text
    assert all(left.sides[0] < right.sides[0] for left, right in pairwise(words))
