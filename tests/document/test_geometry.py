"""Boxes are right by construction: whatever goes in, what comes out lies on the page or is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Box
from layoutray.errors import DocumentError, Reason

SHARES = st.floats(0, 1)
SIZES = st.integers(1, 20_000)
PIXELS = st.floats(-1e6, 1e6)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x0, x1 = sorted((draw(SHARES), draw(SHARES)))
    y0, y1 = sorted((draw(SHARES), draw(SHARES)))
    return Box(x0, y0, x1, y1)


@pytest.mark.parametrize(
    "sides",
    [(0.5, 0, 0.4, 1), (0, 0.5, 1, 0.4), (-0.1, 0, 1, 1), (0, 0, 1, 1.01), (math.nan, 0, 1, 1), (0, 0, math.inf, 1)],
    ids=["x inverted", "y inverted", "left of page", "below page", "nan", "infinite"],
)
def test_a_box_off_the_page_is_refused_with_its_numbers(sides: tuple[float, ...]) -> None:
    with pytest.raises(DocumentError, match=r"must satisfy 0 <= x0 <= x1 <= 1") as caught:
        Box(*sides)
    assert caught.value.reason is Reason.BAD_BOX
    assert str(sides[0]) in str(caught.value)


@given(boxes(), SIZES, SIZES)
def test_pixels_and_back_is_the_same_box(box: Box, width: int, height: int) -> None:
    back, _ = Box.repaired(box.to_pixels(width, height), width, height)
    assert (back.x0, back.y0, back.x1, back.y1) == pytest.approx((box.x0, box.y0, box.x1, box.y1), abs=1e-12)


@given(PIXELS, PIXELS, PIXELS, PIXELS, SIZES, SIZES)
def test_repaired_covers_exactly_the_part_on_the_page(
    x0: float, y0: float, x1: float, y1: float, width: int, height: int
) -> None:
    left, right = min(x0, x1), max(x0, x1)
    top, bottom = min(y0, y1), max(y0, y1)
    outside = right / width < 0 or left / width > 1 or bottom / height < 0 or top / height > 1
    if outside:
        with pytest.raises(DocumentError, match="lies outside its page"):
            Box.repaired((x0, y0, x1, y1), width, height)
        return
    box, changed = Box.repaired((x0, y0, x1, y1), width, height)
    expected = (max(left, 0) / width, max(top, 0) / height, min(right / width, 1), min(bottom / height, 1))
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(expected, abs=1e-12)
    already_right = x0 <= x1 and y0 <= y1 and left >= 0 and top >= 0 and right / width <= 1 and bottom / height <= 1
    assert changed is not already_right


@pytest.mark.parametrize("side", [math.nan, math.inf, -math.inf])
def test_repaired_refuses_what_is_not_a_number(side: float) -> None:
    with pytest.raises(DocumentError, match="not finite") as caught:
        Box.repaired((0, 0, side, 10), 100, 100)
    assert caught.value.reason is Reason.BAD_BOX


def test_from_pixels_repairs_nothing() -> None:
    assert Box.from_pixels((10, 20, 50, 100), 100, 200) == Box(0.1, 0.1, 0.5, 0.5)
    with pytest.raises(DocumentError):
        Box.from_pixels((0, 0, 101, 10), 100, 200)


@given(st.lists(boxes(), min_size=1, max_size=8))
def test_around_is_the_smallest_box_that_holds_all(many: list[Box]) -> None:
    around = Box.around(many)
    for box in many:
        assert around.overlap(box) == box.area
    assert {around.x0, around.y0, around.x1, around.y1} <= {
        side for box in many for side in (box.x0, box.y0, box.x1, box.y1)
    }


@given(boxes(), boxes())
def test_overlap_is_mutual_and_at_most_either_area(one: Box, other: Box) -> None:
    assert one.overlap(other) == other.overlap(one)
    assert 0 <= one.overlap(other) <= min(one.area, other.area)


def test_overlap_of_a_known_pair() -> None:
    assert Box(0, 0, 0.5, 0.5).overlap(Box(0.25, 0.25, 1, 1)) == 0.0625
    assert Box(0, 0, 0.5, 0.5).overlap(Box(0.5, 0, 1, 1)) == 0


def test_polygon_runs_clockwise_from_top_left_in_pixels() -> None:
    assert Box(0.1, 0.2, 0.5, 0.6).polygon(1000, 500) == (100, 100, 500, 100, 500, 300, 100, 300)
