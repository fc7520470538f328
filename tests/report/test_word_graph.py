"""Lines join the centres of neighbouring words."""

import numpy as np
import pytest
from PIL import Image

from layoutray.document import Box, Page, Word
from layoutray.report.word_graph import EDGE, SHOWN_WIDTH, WORD, draw, pairs
from tests.store.pages import page


def three_words() -> Page:
    """Centres at (0.25, 0.25), (0.75, 0.25) and (0.75, 0.75)."""
    corners = [(0.2, 0.2), (0.7, 0.2), (0.7, 0.7)]
    return page("d", 1, *(Word("text", Box(x, y, x + 0.1, y + 0.1)) for x, y in corners))


def neighbour_lists(*rows: list[int]) -> np.ndarray:
    return np.array([(row + [-1] * 8)[:8] for row in rows], np.int32)


def test_a_pair_listed_in_one_or_both_directions_is_one_line() -> None:
    assert pairs(neighbour_lists([2, 1], [0], [])) == [(0, 1), (0, 2)]
    assert pairs(neighbour_lists([])) == []


@pytest.mark.parametrize("size", [(400, 400), (1200, 1200), (3000, 3000)])
def test_lines_join_the_centres_of_neighbours(size: tuple[int, int]) -> None:
    picture = draw(Image.new("L", size, 255), three_words(), neighbour_lists([1], [0], []), ["one pair"])
    side = min(max(size[0], SHOWN_WIDTH[0]), SHOWN_WIDTH[1])
    top = picture.height - side
    assert picture.width == side

    def has_colour(x: float, y: float, colour: tuple[int, int, int]) -> bool:
        left, high = int(x * side), top + int(y * side)
        near = np.asarray(picture.crop((left - 1, high - 1, left + 2, high + 2)), int)
        return bool((np.abs(near - colour).sum(-1) < 0.4 * np.abs(255 - np.array(colour)).sum()).any())

    assert all(has_colour(x, y, WORD) for x, y in ((0.25, 0.25), (0.75, 0.25), (0.75, 0.75)))
    assert has_colour(0.5, 0.25, EDGE)
    assert not has_colour(0.75, 0.5, EDGE)
    assert not has_colour(0.5, 0.5, EDGE)
