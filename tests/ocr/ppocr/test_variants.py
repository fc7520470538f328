import numpy as np
import pytest
from layoutray.ocr.ppocr.variants import variants

from layoutray.ocr.ppocr.lines import cut
from tests.ocr.ppocr.test_lines import box, centre_of_spot, page_with_spot


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
