"""What every engine must do, and that the two that run Tesseract agree."""

import re

import numpy as np
import pytest

from layoutray import registry
from layoutray.document import Word
from layoutray.errors import InputError, MissingDependencyError
from layoutray.ocr import engines
from layoutray.ocr.tesseract.settings import TesseractSettings
from tests.ocr.files import picture

pytestmark = pytest.mark.ocr

TEXT = "Invoice number 20417\nTotal amount due 1250.75\n\n\n\nPlease pay within thirty days"
ENGINES = ("pytesseract", "rapidocr", "tesserocr")
MAX_PIXELS = 10**8
TESSERACT = ("pytesseract", "tesserocr")


def read(name: str, settings: TesseractSettings | None = None) -> tuple[Word, ...]:
    engine = engines.load(name)
    return engine.recognise(np.asarray(picture(TEXT, size=(1200, 600))), settings or engine.settings(), MAX_PIXELS)


def test_the_engines_are_found_by_the_names_of_their_files() -> None:
    assert registry.names("layoutray.ocr.engines", "ENGINE") == ENGINES
    assert tuple(engines.load(name).name for name in ENGINES) == ENGINES


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="known: pytesseract, rapidocr, tesserocr"):
        engines.load("settings")


@pytest.mark.parametrize("name", ENGINES)
def test_words_boxes_lines_and_confidences(name: str) -> None:
    words = read(name)
    assert " ".join(word.text for word in words) == " ".join(TEXT.split())
    assert [word.line for word in words] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    assert all(word.confidence is not None and 0.5 < word.confidence <= 1 for word in words)
    invoice = words[0].box
    assert (invoice.x0 * 1200, invoice.y0 * 600) == pytest.approx((100, 110), abs=12)


def test_the_engines_agree_on_a_clear_page() -> None:
    one, other = read("pytesseract"), read("tesserocr")
    assert [(word.text, word.line, word.block) for word in one] == [
        (word.text, word.line, word.block) for word in other
    ]
    for left, right in zip(one, other, strict=True):
        assert left.box.overlap(right.box) > 0.8 * max(left.box.area, right.box.area)


@pytest.mark.parametrize("name", ENGINES)
def test_a_blank_page_has_no_words(name: str) -> None:
    assert (
        engines.load(name).recognise(np.full((400, 300), 255, np.uint8), engines.load(name).settings(), MAX_PIXELS)
        == ()
    )


@pytest.mark.parametrize("name", TESSERACT)
def test_a_page_gives_the_same_words_whatever_came_before(name: str) -> None:
    first = read(name)
    read(name, TesseractSettings(psm=11))
    assert read(name) == first


@pytest.mark.parametrize("name", TESSERACT)
def test_the_version_names_program_and_language_data(name: str) -> None:
    assert re.fullmatch(r"\d+\.\d+\S* eng:[0-9a-f]{12}", engines.load(name).version(TesseractSettings()))


@pytest.mark.parametrize("name", TESSERACT)
def test_a_language_that_is_not_installed_says_how_to_install_it(name: str) -> None:
    with pytest.raises(MissingDependencyError, match="tesseract-ocr-xqq"):
        read(name, TesseractSettings(language="xqq"))
    assert read(name), "the engine still works with what is installed"
