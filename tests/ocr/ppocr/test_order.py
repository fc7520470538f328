import numpy as np
import pytest

from layoutray.ocr.ppocr.page import rows_and_blocks


def quad(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float]]:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def turned(lines: np.ndarray, degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return lines @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).T


LINES = np.array(
    [
        quad(300, 102, 400, 122),
        quad(10, 10, 200, 30),
        quad(10, 100, 200, 120),
        quad(10, 40, 90, 60),
        quad(100, 38, 380, 61),
    ]
)


@pytest.mark.parametrize("degrees", [-5, -2, 0, 3, 5])
def test_rows_go_from_top_to_bottom_and_left_to_right_on_a_skewed_page(degrees: float) -> None:
    assert rows_and_blocks(turned(LINES, degrees))[0] == [[1], [3, 4], [2, 0]]


def test_a_wide_gap_between_rows_begins_a_block() -> None:
    assert rows_and_blocks(LINES)[1] == [0, 0, 1]


def test_overlapping_lines_of_neighbouring_rows_stay_apart() -> None:
    lines = np.array([quad(0, 0, 100, 22), quad(0, 18, 100, 40), quad(0, 36, 100, 58)])
    assert rows_and_blocks(lines)[0] == [[0], [1], [2]]


def test_a_page_without_lines() -> None:
    assert rows_and_blocks(np.zeros((0, 4, 2))) == ([], [])
