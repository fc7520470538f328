"""Lines of which the network is not sure: found with their own probabilities, and kept where they can be read."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from layoutray.ocr.ppocr.detect import Detector, FittingDetector
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
    corners, probabilities = Detector("small").lines(LINES, 736, 10**8)
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
    corners, probabilities = FittingDetector("small", 736).lines(page(), 10**8)
    assert (corners.shape, probabilities.shape) == ((0, 4, 2), (0,))


@pytest.mark.parametrize(
    ("size", "max_pixels", "short_side"),
    [((500, 1000), 10**8, 736), ((500, 1000), 600_000, 544), ((100, 300), 40_000, 96)],
)
def test_a_page_is_scaled_up_to_at_most_max_pixels(size: tuple[int, int], max_pixels: int, short_side: int) -> None:
    detector = Detector("small")
    scaled: list[int] = []
    detector._session.run = lambda _, feed: scaled.append(min(feed["x"].shape[2:])) or [np.zeros((1, 1, 32, 32))]
    detector.lines(np.full((*size, 3), 255, np.uint8), 736, max_pixels)
    assert scaled == [short_side]


CLEAR = page((100, "the apples and oranges", 0), (300, "before seven", 0))


def runs(settings: RapidocrSettings) -> tuple[int, int]:
    """How often the tiny and the small network have run for the two lines of a page."""
    reader, counts = PageReader(settings), [0, 0]
    for number, lines in enumerate((reader._first, reader._reader)):
        if lines:

            def counting(line: np.ndarray, number: int = number, read: object = lines.read) -> object:
                counts[number] += 1
                return read(line)

            lines.read = counting
    assert [word.text for word in reader.read(CLEAR, 10**8)] == ["the", "apples", "and", "oranges", "before", "seven"]
    return counts[0], counts[1]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (RapidocrSettings(), (2, 0)),
        (RapidocrSettings(certain=1.0, sure=0.0), (2, 2)),
        (RapidocrSettings(certain=1.0, sure=1.0), (2, 2)),  # both networks agree
        (RapidocrSettings(language="ron", sure=1.0), (0, 4)),  # two pictures of each line agree
        (RapidocrSettings(language="all", sure=0.0), (0, 2)),
    ],
    ids=["certain", "uncertain", "agreeing", "a letter that the tiny one lacks", "all characters"],
)
def test_a_line_is_read_no_more_often_than_it_takes(settings: RapidocrSettings, expected: tuple[int, int]) -> None:
    assert runs(settings) == expected


@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_lines_are_searched_in_as_many_pixels_as_the_text_needs(factor: float) -> None:
    page = np.asarray(Image.fromarray(LINES).resize((round(900 * factor), round(700 * factor))))
    detector = FittingDetector("small", 736)
    searched: list[int] = []
    session = detector._fine._session
    run = session.run
    session.run = lambda names, feed: searched.append(min(feed["x"].shape[2:])) or run(names, feed)
    corners, probabilities = detector.lines(page, 10**8)
    middles = np.sort(corners[probabilities > 0.7][:, :, 1].mean(axis=1)) / factor
    assert middles == pytest.approx([320, 520], abs=8)
    assert searched == [pytest.approx(384, abs=32)]
