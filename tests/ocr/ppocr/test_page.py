"""Lines of which the network is not sure: found with their own probabilities, and kept where they can be read."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from layoutray.ocr.ppocr.detect import Detector
from layoutray.ocr.ppocr.page import PageReader
from layoutray.ocr.ppocr.settings import RapidocrSettings

pytestmark = pytest.mark.ocr

FAINT = 240
"""A shade of grey that the network hardly sees on white."""


def page(*lines: tuple[int, str, int]) -> np.ndarray:
    """A white RGB page with lines of text: top, text and shade of each."""
    picture = Image.new("RGB", (900, 700), (255, 255, 255))
    for top, text, shade in lines:
        ImageDraw.Draw(picture).text((60, top), text, fill=(shade,) * 3, font=ImageFont.load_default(32))
    return np.asarray(picture)


LINES = page((100, "THANK YOU", FAINT), (300, "the apples and oranges", 0), (500, "before seven", 0))
"""The faint line is the first in reading order and the last in the order of detection."""


def test_probabilities_belong_to_their_lines() -> None:
    corners, probabilities = Detector(RapidocrSettings().short_side).lines(LINES, 10**8)
    faint = np.abs(corners[:, :, 1].mean(axis=1) - 120) < 30
    assert faint.any()
    assert (probabilities[faint] < 0.4).all()
    assert (probabilities[~faint] > 0.7).all()
    assert (~faint).sum() == 2


def test_of_a_faint_line_what_is_legible_is_kept() -> None:
    texts = [word.text for word in PageReader(RapidocrSettings()).read(LINES, 10**8)]
    assert texts[-6:] == ["the", "apples", "and", "oranges", "before", "seven"]
    assert "YOU" in "".join(texts[:-6])


def test_a_page_without_lines_has_no_words() -> None:
    corners, probabilities = Detector(RapidocrSettings().short_side).lines(page(), 10**8)
    assert (corners.shape, probabilities.shape) == ((0, 4, 2), (0,))


@pytest.mark.parametrize(
    ("size", "max_pixels", "short_side"),
    [((500, 1000), 10**8, 736), ((500, 1000), 600_000, 544), ((100, 300), 40_000, 96)],
)
def test_a_page_is_scaled_up_to_at_most_max_pixels(size: tuple[int, int], max_pixels: int, short_side: int) -> None:
    detector = Detector(736)
    scaled: list[int] = []
    detector._detection.session = lambda picture: scaled.append(min(picture.shape[2:])) or np.zeros((1, 1, 32, 32))
    detector.lines(np.full((*size, 3), 255, np.uint8), max_pixels)
    assert scaled == [short_side]
