"""The map colours words by what they get, and says the mean of each block once."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from layoutray.document import Box, Page, Word
from layoutray.report import attention_map
from layoutray.report.attention_map import RAMP, UNIT, draw, percent
from layoutray.report.canvas import PAPER
from tests.store.pages import page

BLANK = Image.new("L", (1000, 800), 255)
LEFT, TOP = 205, 74
"""Where the page lies in a picture with one line of caption: between margins, below the caption."""


def shown(*boxes: tuple[float, float], tag: str | None = None) -> Page:
    words = [Word("word", Box(x, y, x + 0.1, y + 0.05), line=line, tag=tag) for line, (x, y) in enumerate(boxes)]
    return dataclasses.replace(page("d", 1, *words), width=1000, height=800)


def middle_of(picture: Image.Image, x: float, y: float) -> object:
    return picture.getpixel((LEFT + int(1000 * (x + 0.05)), TOP + int(800 * (y + 0.025))))


def test_more_attention_is_darker_and_words_that_are_not_seen_stay_white() -> None:
    places = [(0.1, 0.1), (0.1, 0.3), (0.1, 0.5), (0.1, 0.7)]
    picture = draw(BLANK, shown(*places), [0], np.array([0.2, 0.1, 0.0, 0.4]), ["a caption"])
    colours = [middle_of(picture, *place) for place in places]
    assert colours == [RAMP[127], RAMP[63], PAPER, RAMP[255]]


def test_the_ramp_gets_darker_step_by_step() -> None:
    brightness = np.array(RAMP) @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(brightness) <= 0).all()
    assert brightness[-1] < brightness[0] - 100


def test_the_unit_is_outlined_and_nothing_else_in_that_colour_on_the_page() -> None:
    picture = draw(BLANK, shown((0.1, 0.1), (0.6, 0.6)), [1], np.array([0.5, 0.5]), ["a caption"])
    on_page = np.asarray(picture.crop((LEFT, TOP, LEFT + 1000, TOP + 800)))
    rows, columns = np.nonzero((on_page == np.array(UNIT)).all(-1))
    assert (columns.min(), rows.min(), columns.max(), rows.max()) == (596, 476, 704, 524)


def test_blocks_are_labelled_with_the_mean_of_their_seen_words() -> None:
    one = shown((0.1, 0.1), (0.1, 0.16), (0.1, 0.7), tag="caption")
    notes = list(attention_map._notes(one, [2], np.array([0.01, 0.0, 0.0]), (1000, 800)))
    assert [note.text for note in notes] == ["caption 1 %", "caption not seen"]
    assert [note.ink == UNIT for note in notes] == [False, True]


@pytest.mark.parametrize("count", [1, 30, 300])
def test_labels_do_not_overlap_and_stay_on_the_sheet(count: int) -> None:
    words = shown(*[(0.1, 0.4 + 0.0001 * number) for number in range(count)])
    one = dataclasses.replace(
        words, words=tuple(dataclasses.replace(word, block=number) for number, word in enumerate(words.words))
    )
    notes = list(attention_map._notes(one, [0], np.full(count, 0.001), (1000, 800)))
    heights = [height for _, height in attention_map._spread(notes, 800)]
    assert len(heights) == min(count, 800 // 22)
    assert all(later - earlier >= 22 for earlier, later in pairwise(heights))
    assert 10 <= min(heights) <= max(heights) <= 790


def test_any_page_becomes_a_picture() -> None:
    for size in ((40, 30), (300, 9000), (5000, 20)):
        assert draw(Image.new("RGBA", size), shown((0.1, 0.1)), [0], np.array([1.0]), ["long " * 100, ""]).mode == "RGB"
    assert draw(BLANK, shown((0.1, 0.1)), [], np.zeros(1), []).mode == "RGB"


def test_numbers_have_at_most_two_digits_that_count() -> None:
    assert [percent(share) for share in (0.00123456, 0.0121, 0.5, 1.0, 0.0)] == [
        "0.12 %",
        "1.2 %",
        "50 %",
        "100 %",
        "0 %",
    ]


def test_a_selection_outlines_nothing_and_says_kept() -> None:
    one = shown((0.1, 0.1), (0.6, 0.6), tag="caption")
    picture = draw(BLANK, one, [], np.array([0.5, 0.0]), ["a caption"], attention_map.SELECTION)
    assert not (np.asarray(picture) == np.array(UNIT)).all(-1).any()
    assert middle_of(picture, 0.1, 0.1) == RAMP[255]
    notes = attention_map._notes(one, [], np.array([0.5, 0.0]), (1000, 800), attention_map.SELECTION.none)
    assert [note.text for note in notes] == ["caption 50 %", "caption not kept"]
