import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from layoutray.document import Box, Word
from layoutray.ocr.tesseract.preprocess import Prepared, find_skew, preprocess, to_gray
from layoutray.ocr.tesseract.settings import Preprocessing
from tests.ocr.files import picture

OFF = Preprocessing(width=0, clahe=0)


def preprocessed(image: np.ndarray, settings: Preprocessing, max_pixels: int = 10**8) -> Prepared:
    return preprocess(image, settings, max_pixels)


def box_on_page(prepared: Prepared, box: Box) -> Box:
    (word,) = prepared.on_page([Word(text="x", box=box)])
    return word.box


LINES = "\n".join(["the quick brown fox jumps over the lazy dog"] * 10)


def turned(image: Image.Image, degrees: float) -> np.ndarray:
    """Clockwise by `degrees` about the middle."""
    return np.asarray(image.rotate(-degrees, resample=Image.Resampling.BICUBIC, fillcolor=255))


def ink_box(image: np.ndarray) -> Box:
    rows, columns = np.nonzero(image < 100)
    height, width = image.shape
    return Box(columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height)


def sides(box: Box) -> tuple[float, float, float, float]:
    return box.x0, box.y0, box.x1, box.y1


def test_all_off_leaves_a_grey_picture_alone() -> None:
    image = np.asarray(picture("x"))
    assert preprocessed(image, OFF).image is image


@given(width=st.integers(50, 2000), page_width=st.integers(60, 700), page_height=st.integers(60, 700))
def test_rescaling_keeps_the_aspect_and_the_place_of_boxes(width: int, page_width: int, page_height: int) -> None:
    page = np.full((page_height, page_width), 255, np.uint8)
    prepared = preprocessed(page, Preprocessing(width=width, clahe=0))
    height, got = prepared.image.shape
    assert got == width
    assert height == pytest.approx(page_height * width / page_width, abs=1)
    assert box_on_page(prepared, Box(0.1, 0.2, 0.3, 0.4)) == Box(0.1, 0.2, 0.3, 0.4)


@given(max_pixels=st.integers(1, 3_000_000), page_width=st.integers(1, 700), page_height=st.integers(1, 700))
def test_a_picture_is_made_at_most_as_large_as_is_allowed(max_pixels: int, page_width: int, page_height: int) -> None:
    page = np.full((page_height, page_width), 255, np.uint8)
    image = preprocessed(page, Preprocessing(width=1600, clahe=0), max_pixels).image
    assert image.size <= max(max_pixels + image.shape[1], page.size), "up to a row, as the height is rounded"
    assert image.shape[1] in (1600, page_width) or 4 * image.size > min(max_pixels, 30_000 * image.shape[1]) / 2


def test_a_rescaled_mark_is_found_where_it_was() -> None:
    page = np.full((700, 500), 255, np.uint8)
    page[140:210, 100:200] = 0
    found = ink_box(preprocessed(page, Preprocessing(width=1300, clahe=0)).image)
    assert sides(found) == pytest.approx((0.2, 0.2, 0.4, 0.3), abs=0.003)


def test_dilation_thins_dark_ink_and_erosion_thickens_it() -> None:
    image = np.asarray(picture("word"))
    ink = (image < 128).sum()
    assert (preprocessed(image, Preprocessing(width=0, clahe=0, dilate=3)).image < 128).sum() < ink
    assert (preprocessed(image, Preprocessing(width=0, clahe=0, erode=3)).image < 128).sum() > ink


def test_clahe_darkens_faint_ink() -> None:
    faint = (235 + np.asarray(picture(LINES)) * (20 / 255)).astype(np.uint8)
    assert np.ptp(preprocessed(faint, Preprocessing(width=0, clahe=3)).image) > 2 * np.ptp(faint)


@pytest.mark.parametrize("grayscale", [True, False])
def test_a_colour_picture_comes_out_grey(grayscale: bool) -> None:
    red = np.zeros((80, 100, 3), np.uint8)
    red[..., 0] = 200
    prepared = preprocessed(red, Preprocessing(width=200, grayscale=grayscale, dilate=2))
    assert prepared.image.shape == (160, 200)
    assert to_gray(red)[0, 0] == round(0.299 * 200)


@pytest.mark.parametrize("degrees", [-4.0, -2.3, 0.0, 1.5, 3.0])
def test_the_slope_of_lines_is_found(degrees: float) -> None:
    assert find_skew(turned(picture(LINES, height=30), degrees)) == pytest.approx(degrees, abs=0.2)


def test_a_blank_page_has_no_slope() -> None:
    assert find_skew(np.full((300, 200), 255, np.uint8)) == 0


@pytest.mark.parametrize("degrees", [-3.0, 2.0, 2.7])
def test_boxes_found_on_a_levelled_page_lie_on_the_sloping_original(degrees: float) -> None:
    page = picture(LINES, size=(1100, 900), height=30)
    sloping = turned(page, degrees)
    level = preprocessed(sloping, Preprocessing(width=1400, clahe=0, deskew=True))
    # A mark at a known position of the skewed page, deskewed in the same way, must be mapped back to that position.
    marked = np.full_like(sloping, 255)
    marked[300:320, 700:760] = 0
    height, width = level.image.shape
    pixels = np.diag([1100, 900]) @ level.to_page @ np.diag([1 / width, 1 / height, 1])
    moved = cv2.warpAffine(
        marked, pixels, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderValue=255
    )
    back = box_on_page(level, ink_box(moved))
    assert sides(back) == pytest.approx((700 / 1100, 300 / 900, 760 / 1100, 320 / 900), abs=0.006)
    assert abs(find_skew(level.image)) < 0.3


def test_levelling_loses_no_corner_and_boxes_stay_on_the_page() -> None:
    page = np.asarray(picture(LINES, size=(1100, 900), height=30)).copy()
    page[:12, :12] = page[-12:, -12:] = 0
    level = preprocessed(turned(Image.fromarray(page), 3), Preprocessing(width=0, clahe=0, deskew=True))
    assert level.image.shape[0] > 900
    assert level.image.shape[1] > 1100
    assert sides(box_on_page(level, Box(0, 0, 1, 1))) == pytest.approx((0, 0, 1, 1), abs=1e-9)


def test_a_page_out_by_less_than_half_a_degree_is_left_alone() -> None:
    nearly = turned(picture(LINES, height=30), 0.3)
    assert preprocessed(nearly, Preprocessing(width=0, clahe=0, deskew=True)).image is nearly
