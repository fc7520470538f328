"""What every engine must do, and that the two agree."""

import re
from dataclasses import replace

import numpy as np
import pytest

from layoutray import ocr, registry
from layoutray.document import Word
from layoutray.errors import DocumentError, InputError, MissingDependencyError, Reason
from layoutray.ocr.settings import TesseractSettings
from tests.ocr.files import picture

pytestmark = pytest.mark.ocr

SETTINGS = TesseractSettings()
TEXT = "Invoice number 20417\nTotal amount due 1250.75\n\n\n\nPlease pay within thirty days"
ENGINES = ("pytesseract", "tesserocr")


def read(name: str, settings: TesseractSettings = SETTINGS) -> tuple[Word, ...]:
    return ocr.load(name).recognise(np.asarray(picture(TEXT, size=(1200, 600))), settings)


def test_the_engines_are_found_by_the_names_of_their_files() -> None:
    assert registry.names("layoutray.ocr", "ENGINE") == ENGINES
    assert tuple(ocr.load(name).name for name in ENGINES) == ENGINES


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="known: pytesseract, tesserocr"):
        ocr.load("settings")


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
    assert ocr.load(name).recognise(np.full((400, 300), 255, np.uint8), SETTINGS) == ()


@pytest.mark.parametrize("name", ENGINES)
def test_a_page_gives_the_same_words_whatever_came_before(name: str) -> None:
    first = read(name)
    read(name, replace(SETTINGS, psm=11))
    assert read(name) == first


@pytest.mark.parametrize("name", ENGINES)
def test_the_version_names_program_and_language_data(name: str) -> None:
    assert re.fullmatch(r"\d+\.\d+\S* eng:[0-9a-f]{12}", ocr.load(name).version(SETTINGS))


@pytest.mark.parametrize("name", ENGINES)
def test_a_language_that_is_not_installed_says_how_to_install_it(name: str) -> None:
    with pytest.raises(MissingDependencyError, match="tesseract-ocr-xqq"):
        read(name, replace(SETTINGS, language="xqq"))
    assert read(name), "the engine still works with what is installed"


@pytest.mark.parametrize("name", ENGINES)
def test_a_page_that_takes_too_long_is_given_up(name: str) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (1200, 1200), dtype=np.uint8)
    with pytest.raises(DocumentError) as caught:
        ocr.load(name).recognise(noise, replace(SETTINGS, deadline=0.05))
    assert caught.value.reason is Reason.TIMEOUT
    assert read(name), "the engine still works"
