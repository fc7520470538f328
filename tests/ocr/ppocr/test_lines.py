import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.ocr.ppocr.lines import cut, variants


def page_with_spot(at: tuple[int, int]) -> np.ndarray:
    """A white page of 300 x 200 pixels with a black spot of 6 x 6 around `at` (x, y)."""
    page = np.full((200, 300, 3), 255, np.uint8)
    page[at[1] - 3 : at[1] + 3, at[0] - 3 : at[0] + 3] = 0
    return page


def centre_of_spot(picture: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero(picture[..., 0] < 128)
    return float(columns.mean() + 0.5), float(rows.mean() + 0.5)


def box(angle: float, centre: tuple[float, float] = (150, 100), half: tuple[float, float] = (100, 20)) -> np.ndarray:
    """Corners of a rectangle turned by `angle` degrees, clockwise from its top left."""
    radians = np.deg2rad(angle)
    turn = np.array([[np.cos(radians), -np.sin(radians)], [np.sin(radians), np.cos(radians)]])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    return corners @ turn.T + centre


@given(st.floats(-10, 10), st.integers(100, 200))
def test_what_is_found_in_a_line_is_found_on_the_page(angle: float, x: int) -> None:
    corners = box(angle)
    line = cut(page_with_spot((x, 100)), corners)
    assert line.picture.shape[:2] == (40, 200)
    found_x, found_y = centre_of_spot(line.picture)
    on_page = line.on_page((found_x, found_y, found_x, found_y))
    assert on_page[0] == pytest.approx((x, 100), abs=1)


def test_a_line_that_is_higher_than_wide_is_laid_down() -> None:
    upright = np.array([[140, 20], [160, 20], [160, 180], [140, 180]], dtype=np.float64)
    line = cut(page_with_spot((150, 30)), upright)
    assert line.picture.shape[:2] == (20, 160)
    assert centre_of_spot(line.picture)[0] == pytest.approx(10, abs=1), "text from top to bottom begins at the top"
    assert line.on_page((0, 0, 160, 20)).min(axis=0) == pytest.approx((140, 20))


@pytest.mark.parametrize("angle", [0, 7])
def test_what_is_found_in_another_picture_of_a_line_is_found_on_the_page(angle: float) -> None:
    others = list(variants(cut(page_with_spot((170, 100)), box(angle))))
    assert [one.picture.shape for one in others] == [(40, 224, 3), (34, 200, 3), (48, 208, 3)]
    for other in others:
        x, y = centre_of_spot(other.picture)
        assert other.on_page((x, y, x, y))[0] == pytest.approx((170, 100), abs=1)


def test_the_smallest_line_has_variants() -> None:
    dot = cut(np.zeros((5, 5, 3), np.uint8), np.array([[1, 1], [2, 1], [2, 2], [1, 2]], np.float64))
    assert all(min(one.picture.shape) >= 1 for one in variants(dot))
