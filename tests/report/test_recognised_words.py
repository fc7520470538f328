"""The picture shows each word twice: as a box on the page, and as text beside the page."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from layoutray.document import Box, Page, Word
from layoutray.report.canvas import FAINT, PAPER
from layoutray.report.palette import COLOURS
from layoutray.report.recognised_words import (
    DOUBTFUL,
    LEVELS,
    ORDER,
    SHOWN_HEIGHT,
    SHOWN_WIDTH,
    UNKNOWN,
    WORD_HEIGHT,
    draw,
    level_of,
    shown_size,
)
from tests.store.pages import page

TOP = 74
"""Height of a caption of one line."""


def receipt(*confidences: float | None) -> Page:
    """A page of 1000 x 500 pixels with a line of words, each 26 pixels high, so that it is drawn in its own size."""
    words = [
        Word(text="word", box=Box(0.1 + 0.2 * number, 0.5, 0.2 + 0.2 * number, 0.552), confidence=confidence)
        for number, confidence in enumerate(confidences)
    ]
    return dataclasses.replace(page("d", 1, *words), width=1000, height=500)


def drawn(shown: Page) -> tuple[np.ndarray, np.ndarray]:
    """The page with boxes, and the texts beside it, as pixels."""
    picture = draw(Image.new("L", (1000, 500), 255), shown, ["a caption"])
    left = np.asarray(picture.crop((0, TOP, 1000, TOP + 500)))
    return left, np.asarray(picture.crop((1012, TOP, 2012, TOP + 500)))


def test_the_colour_of_a_box_is_that_of_the_confidence() -> None:
    left, _ = drawn(receipt(0.3, 0.7, 0.9, None))
    colours = [tuple(left[249, 150 + 200 * number].tolist()) for number in range(4)]
    assert colours == [COLOURS[1], COLOURS[4], COLOURS[0], FAINT]


def test_the_text_is_beside_the_page_and_does_not_cover_it() -> None:
    left, right = drawn(receipt(0.9))
    inside = (slice(252, 275), slice(104, 196))
    assert (left[inside] == PAPER).all()
    assert (right[inside].min(axis=-1) < 100).any()
    assert (right[:240] == PAPER).all()


def test_the_order_is_a_line_from_the_end_of_a_word_to_the_start_of_the_next() -> None:
    left, _ = drawn(receipt(0.9, 0.9))
    gap = left[262:265, 205:295]
    assert (np.abs(gap.astype(int) - ORDER).sum(axis=-1).min(axis=0) < 200).all()
    assert (left[263, 405:] == PAPER).all()


@given(st.none() | st.floats(0, 1))
def test_each_confidence_has_one_level(confidence: float | None) -> None:
    level = level_of(Word(text="word", box=Box(0, 0, 1, 1), confidence=confidence))
    if confidence is None:
        assert level is UNKNOWN
    else:
        assert level.least <= confidence
        assert not any(level.least < other.least <= confidence for other in LEVELS)
        assert (level is LEVELS[0]) == (confidence < DOUBTFUL)


@given(st.integers(20, 9000), st.integers(20, 9000), st.floats(0.0, 0.2))
def test_words_are_shown_in_a_readable_size_within_limits(width: int, height: int, word_height: float) -> None:
    word = Word(text="word", box=Box(0.1, 0.1, 0.2, 0.1 + word_height))
    shown = dataclasses.replace(page("d", 1, word), width=width, height=height)
    wide, high = shown_size(shown)
    assert wide <= SHOWN_WIDTH[1]
    assert high <= SHOWN_HEIGHT
    assert wide >= SHOWN_WIDTH[0] or high == SHOWN_HEIGHT
    if SHOWN_WIDTH[0] < wide < SHOWN_WIDTH[1] and high < SHOWN_HEIGHT and word_height * height >= 1:
        assert word_height * high == pytest.approx(WORD_HEIGHT, rel=0.01)


@pytest.mark.parametrize("size", [(40, 30), (300, 9000), (5000, 20)])
def test_pages_of_any_size_can_be_drawn(size: tuple[int, int]) -> None:
    tall = Word(text="a long text in a narrow box", box=Box(0.9, 0, 0.901, 1), confidence=0.5)
    for words in ((), (tall,), (Word(text="", box=Box(0.5, 0.5, 0.5, 0.5)),)):
        shown = dataclasses.replace(page("d", 1, *words), width=size[0], height=size[1])
        assert draw(Image.new("RGBA", size), shown, ["long " * 100, ""]).mode == "RGB"
