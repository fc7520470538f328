"""Copies of pages are rotated clockwise and keep everything that is on the page."""

import numpy as np
import pytest

from benchmarks.measure.turned_pages import COPIES, rotated


def test_a_turn_is_clockwise() -> None:
    page = np.array([[1, 2], [3, 4], [5, 6]], np.uint8)
    assert rotated(page, 90).tolist() == [[5, 3, 1], [6, 4, 2]]
    assert rotated(page, 0).tolist() == page.tolist()


@pytest.mark.parametrize("degrees", [-5, 2, 5])
@pytest.mark.parametrize("shape", [(80, 200), (80, 200, 3)])
def test_a_skewed_page_keeps_its_corners(degrees: float, shape: tuple[int, ...]) -> None:
    page = np.full(shape, 255, np.uint8)
    page[:4], page[-4:] = 0, 0
    copy = rotated(page, degrees)
    ink = (255 - copy.astype(float)).sum() / (255 - page.astype(float)).sum()
    assert ink == pytest.approx(1, abs=0.02)
    left, right = (np.argmax(copy.reshape(*copy.shape[:2], -1)[:, column, 0] < 128) for column in (8, -9))
    assert (left < right) == (degrees > 0), "the right side of a page that is rotated clockwise is lower"


def test_the_first_copy_is_the_page_itself() -> None:
    assert list(COPIES.values())[:2] == [0, 0]
