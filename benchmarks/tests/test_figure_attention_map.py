"""The map colours words by their share and writes the mean of each block beside it."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from benchmarks.figures import attention_map
from benchmarks.figures.attention_map import QUERY, RAMP, draw, percent
from layoutray.document import Box, Page, Word
from layoutray.report.canvas import PAPER
from tests.store.pages import page

BLANK = Image.new("L", (1000, 800), 255)
LEFT, TOP = 205, 74
"""Position of the page in a picture with one line of caption."""


def page_with(*boxes: tuple[float, float], tag: str | None = None) -> Page:
    words = [
        Word(text="word", box=Box(x, y, x + 0.1, y + 0.05), line=line, tag=tag) for line, (x, y) in enumerate(boxes)
    ]
    return dataclasses.replace(page("d", 1, *words), width=1000, height=800)


def colour_at(picture: Image.Image, x: float, y: float) -> object:
    return picture.getpixel((LEFT + int(1000 * (x + 0.05)), TOP + int(800 * (y + 0.025))))


def test_more_attention_is_darker_and_words_without_attention_stay_white() -> None:
    places = [(0.1, 0.1), (0.1, 0.3), (0.1, 0.5), (0.1, 0.7)]
    picture = draw(BLANK, page_with(*places), [0], np.array([0.2, 0.1, 0.0, 0.4]), ["a caption"])
    colours = [colour_at(picture, *place) for place in places]
    assert colours == [RAMP[127], RAMP[63], PAPER, RAMP[255]]


def test_each_colour_of_the_ramp_is_at_most_as_bright_as_the_one_before() -> None:
    brightness = np.array(RAMP) @ (0.2126, 0.7152, 0.0722)
    assert (np.diff(brightness) <= 0).all()
    assert brightness[-1] < brightness[0] - 100


def test_only_query_words_are_outlined_in_the_query_colour() -> None:
    picture = draw(BLANK, page_with((0.1, 0.1), (0.6, 0.6)), [1], np.array([0.5, 0.5]), ["a caption"])
    on_page = np.asarray(picture.crop((LEFT, TOP, LEFT + 1000, TOP + 800)))
    rows, columns = np.nonzero((on_page == np.array(QUERY)).all(-1))
    assert (columns.min(), rows.min(), columns.max(), rows.max()) == (596, 476, 704, 524)


def test_blocks_are_labelled_with_the_mean_of_their_words_above_zero() -> None:
    drawn_page = page_with((0.1, 0.1), (0.1, 0.16), (0.1, 0.7), tag="caption")
    notes = list(attention_map._notes(drawn_page, [2], np.array([0.01, 0.0, 0.0]), (1000, 800)))
    assert [note.text for note in notes] == ["caption 1 %", "caption 0 %"]
    assert [note.ink == QUERY for note in notes] == [False, True]


@pytest.mark.parametrize("count", [1, 30, 300])
def test_notes_do_not_overlap_and_stay_on_the_sheet(count: int) -> None:
    one_block = page_with(*[(0.1, 0.4 + 0.0001 * number) for number in range(count)])
    words = tuple(dataclasses.replace(word, block=number) for number, word in enumerate(one_block.words))
    drawn_page = dataclasses.replace(one_block, words=words)
    notes = list(attention_map._notes(drawn_page, [0], np.full(count, 0.001), (1000, 800)))
    heights = [height for _, height in attention_map._with_heights(notes, 800)]
    assert len(heights) == min(count, 800 // 22)
    assert all(later - earlier >= 22 for earlier, later in pairwise(heights))
    assert 10 <= min(heights) <= max(heights) <= 790


def test_pages_of_any_size_can_be_drawn() -> None:
    for size in ((40, 30), (300, 9000), (5000, 20)):
        assert (
            draw(Image.new("RGBA", size), page_with((0.1, 0.1)), [0], np.array([1.0]), ["long " * 100, ""]).mode
            == "RGB"
        )
    assert draw(BLANK, page_with((0.1, 0.1)), [], np.zeros(1), []).mode == "RGB"


def test_percentages_have_at_most_two_significant_digits() -> None:
    assert [percent(share) for share in (0.00123456, 0.0121, 0.5, 1.0, 0.0)] == [
        "0.12 %",
        "1.2 %",
        "50 %",
        "100 %",
        "0 %",
    ]
