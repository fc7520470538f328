from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

from layoutray import config
from layoutray.document import Box, Word
from layoutray.ocr import engines
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.ocr.turn import read_upright
from tests.ocr.files import encoded, picture

TEXT = "Invoice number 20417\nTotal amount due 1250.75\nPlease pay within thirty days\nto the account named below"


@dataclass
class Sharp:
    """Reads the top left pixel of a picture: 1 is an upright page, other values are confidences in percent."""

    name: str = "sharp"
    settings: type = object
    well_read: float = 0.9
    least_confidence: float = 0.2
    calls: int = 0

    def version(self, settings: object) -> str:
        return "1"

    def recognise(self, picture: np.ndarray, settings: object, max_pixels: int) -> tuple[Word, ...]:
        self.calls += 1
        confidence = 1.0 if picture[0, 0] == 1 else float(picture[0, 0]) / 100
        return (
            Word(text="words", box=Box(0.1, 0.1, 0.5, 0.2), confidence=confidence),
            Word(text="noise", box=Box(0.1, 0.3, 0.5, 0.4), confidence=0.1),
        )


def page(*corners: int) -> np.ndarray:
    """A page whose corners, clockwise from the top left, have these values."""
    square = np.zeros((8, 8), np.uint8)
    square[0, 0], square[0, -1], square[-1, -1], square[-1, 0] = corners
    return square


def test_a_page_that_is_read_well_is_read_once() -> None:
    engine = Sharp(well_read=0.5)
    reading = read_upright(page(1, 1, 1, 1), engine, Recognition())
    assert (reading.degrees, engine.calls) == (0, 1)
    assert [word.text for word in reading.words] == ["words"], "words below the least confidence are left out"


@pytest.mark.parametrize(
    ("corners", "degrees", "box"),
    [
        ((30, 30, 1, 30), 180, (0.5, 0.8, 0.9, 0.9)),
        ((30, 1, 30, 30), 270, (0.8, 0.1, 0.9, 0.5)),
        ((30, 30, 30, 1), 90, (0.1, 0.5, 0.2, 0.9)),
    ],
)
def test_a_turned_page_is_read_upright_and_its_boxes_stay_on_the_page(
    corners: tuple[int, int, int, int], degrees: int, box: tuple[float, float, float, float]
) -> None:
    reading = read_upright(page(*corners), Sharp(well_read=0.5), Recognition())
    (word,) = reading.words
    assert reading.degrees == degrees
    assert (word.box.x0, word.box.y0, word.box.x1, word.box.y1) == pytest.approx(box)


def test_a_page_that_no_turn_makes_readable_stays_as_it_is() -> None:
    reading = read_upright(page(40, 45, 50, 45), Sharp(), Recognition())
    assert reading.degrees == 0


def test_a_page_that_is_said_to_be_upright_is_read_once() -> None:
    engine = Sharp()
    reading = read_upright(page(30, 30, 1, 30), engine, Recognition(orientation="upright"))
    assert (reading.degrees, engine.calls) == (0, 1)


@pytest.mark.ocr
@pytest.mark.parametrize("profile", ["fast", "accurate"])
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_scans_on_a_side_or_upside_down_are_read(profile: str, degrees: int) -> None:
    upright = picture(TEXT, size=(1200, 700))
    lying = upright.rotate(-degrees, expand=True)
    settings = config.build(Recognition, {"profile": profile})
    data = encoded(lying, "PNG")
    read = recognise_page(data, 1, settings)
    assert " ".join(word.text for word in read.words) == " ".join(TEXT.split())
    assert f"turn of {360 - degrees} degrees clockwise" in read.provenance.reason
    assert (read.width, read.height) == lying.size
    first = picture("Invoice", size=(1200, 700)).rotate(-degrees, expand=True)
    left, top, right, bottom = first.point(lambda shade: 255 - shade).getbbox() or (0, 0, 0, 0)
    assert read.words[0].box.to_pixels(*lying.size) == pytest.approx((left, top, right, bottom), abs=12)


@dataclass
class Unsure:
    """The engine of the profiles, which never reads well enough, and what it has read in pixels."""

    engine: engines.Engine
    well_read: float = 1.1
    least_confidence: float = 0.0
    pixels: int = 0

    def recognise(self, picture: np.ndarray, settings: object, max_pixels: int) -> tuple[Word, ...]:
        self.pixels += picture.size
        return self.engine.recognise(picture, settings, max_pixels)


@pytest.mark.ocr
@pytest.mark.parametrize(("degrees", "pages"), [(0, 1), (180, 2), (90, 2)])
def test_a_part_of_an_unclear_page_shows_in_which_direction_it_is_to_be_read(degrees: int, pages: int) -> None:
    paragraph = picture("\n".join([TEXT] * 3), size=(1200, 1300))
    scan = np.asarray(paragraph.rotate(-degrees, expand=True))
    settings = Recognition(profile="fast")
    engine = Unsure(engines.load(settings.engine))
    reading = read_upright(scan, engine, settings)
    assert reading.degrees == -degrees % 360
    assert " ".join(word.text for word in reading.words) == " ".join(TEXT.split() * 3)
    assert scan.size * pages < engine.pixels < scan.size * (pages + 0.7)


@pytest.mark.ocr
@pytest.mark.parametrize("degrees", [-5, -2, 3, 5])
def test_the_accurate_profile_reads_skewed_scans(degrees: float) -> None:
    skewed = picture(TEXT, size=(1200, 900)).rotate(degrees, resample=Image.Resampling.BICUBIC, fillcolor=255)
    words = engines.load("rapidocr").recognise(np.asarray(skewed), engines.load("rapidocr").settings(), 10**8)
    assert " ".join(word.text for word in words) == " ".join(TEXT.split())
