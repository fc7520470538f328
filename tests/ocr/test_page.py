import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from layoutray import config
from layoutray.metrics.word_recall import word_recall
from layoutray.ocr import engines
from layoutray.ocr.page import recognise_page
from layoutray.ocr.ppocr.detect import without_strip
from layoutray.ocr.settings import Profile, Recognition
from layoutray.ocr.tesseract.preprocess import preprocess
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from tests.ocr.files import encoded, pdf, picture, placed_picture, typed

pytestmark = pytest.mark.ocr

SETTINGS = Recognition(engine="tesserocr")
TEXT = "Purchase order 4711\nfor seven wooden chairs"
ORIENTATION = 0x0112


def texts(data: bytes, settings: Recognition = SETTINGS) -> str:
    return " ".join(word.text for word in recognise_page(data, 1, settings).words)


def test_a_picture_is_read_by_ocr_and_its_provenance_kept() -> None:
    page = recognise_page(encoded(picture(TEXT), "PNG"), 1, SETTINGS)
    assert " ".join(word.text for word in page.words) == " ".join(TEXT.split())
    assert (page.number, page.width, page.height) == (1, 1000, 700)
    assert page.provenance.words == "ocr"
    assert page.provenance.engine == "tesserocr"
    assert page.provenance.version == engines.load("tesserocr").version(SETTINGS.settings)
    assert json.loads(page.provenance.settings) == json.loads(json.dumps(config.to_dict(SETTINGS)))
    assert (
        json.loads(page.provenance.settings)["tesserocr"]["preprocessing"]["width"]
        == SETTINGS.settings.preprocessing.width
    )


def test_a_born_digital_pdf_page_is_not() -> None:
    page = recognise_page(pdf(typed("Purchase order 4711", x=60, y=700)), 1, SETTINGS)
    assert [word.text for word in page.words] == ["Purchase", "order", "4711"]
    assert (page.width, page.height) == (1667, 2223)
    assert page.provenance.words == "text_layer"
    assert (page.provenance.engine, page.provenance.version, page.provenance.settings) == ("", "", "")


def test_a_scanned_pdf_page_is_drawn_and_read() -> None:
    scan = encoded(picture(TEXT, size=(1200, 1600)), "JPEG")
    content = placed_picture(left=0, bottom=0, width=600, height=800) + typed(
        "wrong words from elsewhere", x=50, y=700, mode=3
    )
    page = recognise_page(pdf(content, jpeg=scan), 1, SETTINGS)
    assert " ".join(word.text for word in page.words) == " ".join(TEXT.split())
    assert "scan" in page.provenance.reason
    assert page.words[0].box.x0 == pytest.approx(100 / 1200, abs=0.01)


def test_a_born_digital_page_reads_the_same_drawn() -> None:
    data = pdf("".join(typed("seven wooden chairs for the meeting room", x=60, y=700 - 50 * line) for line in range(6)))
    layer = recognise_page(data, 1, SETTINGS)
    drawn = recognise_page(data, 1, replace(SETTINGS, text_layer="never"))
    assert [word.text for word in drawn.words] == [word.text for word in layer.words]
    assert [word.line for word in drawn.words] == [word.line for word in layer.words]
    assert (drawn.width, drawn.height) == (layer.width, layer.height)
    for one, other in zip(drawn.words, layer.words, strict=True):
        assert one.box.overlap(other.box) > 0.6 * max(one.box.area, other.box.area)


HEADER = "".join(typed("seven wooden chairs for the room", x=60, y=760 - 20 * line, size=12) for line in range(4))
FOOTER = typed("kind regards", x=60, y=60, size=12)


@pytest.mark.parametrize("strips", [1, 8])
def test_a_picture_beside_text_is_read_where_it_stands(strips: int) -> None:
    scan = picture(TEXT, size=(1000, 800))
    parts = "".join(
        f"q 500 0 0 {400 // strips} 60 {500 - 400 // strips * (part + 1)} cm "
        f"q 1 0 0 {strips} 0 {1 - strips + part} cm 0 {(strips - 1 - part) / strips} 1 {1 / strips} re W n /P Do Q Q\n"
        for part in range(strips)
    )
    page = recognise_page(pdf(HEADER + parts + FOOTER, jpeg=encoded(scan, "JPEG")), 1, SETTINGS)
    expected = "seven wooden chairs for the room " * 4 + " ".join(TEXT.split()) + " kind regards"
    assert " ".join(word.text for word in page.words) == expected
    word = next(word for word in page.words if word.text == "Purchase")
    assert (word.box.x0, word.box.y0) == pytest.approx((110 / 600, (300 + 54) / 800), abs=0.01)
    assert word.confidence is not None
    assert [word.line for word in page.words] == sorted(word.line for word in page.words)
    assert (page.provenance.words, page.provenance.engine) == ("text_layer", "tesserocr")
    assert "text layer of 26 words; 1 picture beside it: 7 words by OCR" in page.provenance.reason


@pytest.mark.parametrize("over", [HEADER, HEADER.replace("0 Tr", "3 Tr")], ids=["text", "earlier OCR"])
def test_a_picture_under_text_is_not_read_again(over: str) -> None:
    scan = encoded(picture(TEXT, size=(1000, 800)), "JPEG")
    placed = placed_picture(left=0, bottom=600, width=600, height=200)
    body = "".join(typed("seven wooden chairs for the room", x=60, y=500 - 20 * line) for line in range(8))
    page = recognise_page(pdf(placed + over + body, jpeg=scan), 1, SETTINGS)
    assert page.provenance.engine == ""


def test_boxes_of_a_photograph_lie_in_the_upright_page() -> None:
    upright = picture(TEXT, size=(1200, 700))
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # stored a quarter turn anticlockwise, to be shown turned back
    page = recognise_page(encoded(upright.rotate(90, expand=True), "JPEG", exif=exif, quality=95), 1, SETTINGS)
    assert (page.width, page.height) == (1200, 700)
    assert page.words[0].text == "Purchase"
    assert (page.words[0].box.x0, page.words[0].box.y0) == pytest.approx((100 / 1200, 108 / 700), abs=0.02)


@pytest.mark.parametrize("degrees", [-3, 2.5])
def test_words_of_a_sloping_page_are_found_where_they_stand(degrees: float) -> None:
    lines = "\n".join(f"{word} line of some plain words to read" for word in ("Seventh", *"abcdefg"))
    sloping = picture(lines, size=(1200, 900)).rotate(-degrees, resample=Image.Resampling.BICUBIC, fillcolor=255)
    only_mark = picture("Seventh", size=(1200, 900)).rotate(-degrees, resample=Image.Resampling.BICUBIC, fillcolor=255)
    left, top, right, bottom = only_mark.point(lambda shade: 255 if shade < 128 else 0).getbbox() or (0, 0, 0, 0)
    settings = replace(SETTINGS, settings=TesseractSettings(preprocessing=Preprocessing(deskew=True)))
    first = recognise_page(encoded(sloping, "PNG"), 1, settings).words[0]
    assert first.text == "Seventh"
    found = first.box.to_pixels(1200, 900)
    assert found == pytest.approx((left, top, right, bottom), abs=9)


def test_a_blank_page_has_no_words_and_is_no_error() -> None:
    blank = Image.new("L", (800, 1000), 255)
    assert recognise_page(encoded(blank, "PNG"), 1, SETTINGS).words == ()
    assert recognise_page(pdf(""), 1, SETTINGS).words == ()


@pytest.mark.parametrize("mode", ["1", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_the_words_do_not_depend_on_how_colours_are_stored(mode: str) -> None:
    image = picture(TEXT).convert("RGB") if mode in ("P", "CMYK", "RGBA") else picture(TEXT)
    stored = (
        image.convert("L").convert("I").point(lambda shade: shade * 257).convert("I;16")
        if mode == "I;16"
        else image.convert(mode)
    )
    assert texts(encoded(stored, "TIFF")) == " ".join(TEXT.split())


def test_receipts_are_read(data_root: Path) -> None:
    boxes = sorted((data_root / "sroie/SROIE2019/test/box").glob("*.txt"))
    pictures = data_root / "sroie/SROIE2019/test/img"
    chosen = [box for box in boxes if (pictures / f"{box.stem}.jpg").exists()][:4]
    recalls: list[float] = []
    for box in chosen:
        truth = [line.split(",", 8)[8] for line in box.read_text(errors="replace").splitlines() if line.count(",") >= 8]
        recalls.append(word_recall([texts((pictures / f"{box.stem}.jpg").read_bytes())], truth)[0])
    assert sum(recalls) / len(recalls) > 0.7


def test_born_digital_pages_drawn_read_as_their_text_layer_says(data_root: Path) -> None:
    for path in sorted((data_root / "kleister-nda/documents").glob("*.pdf"))[:2]:
        data = path.read_bytes()
        layer = texts(data)
        assert word_recall([texts(data, replace(SETTINGS, text_layer="never"))], [layer])[0] > 0.9


@pytest.mark.parametrize("profile", ["fast", "accurate"])
@pytest.mark.parametrize("size", [(3, 2000), (2000, 3), (20_000, 30), (30, 20_000)])
def test_a_strip_that_holds_no_line_has_no_words(profile: Profile, size: tuple[int, int]) -> None:
    data = encoded(Image.linear_gradient("L").resize(size), "PNG")
    started = time.perf_counter()
    assert recognise_page(data, 1, Recognition(profile=profile)).words == ()
    assert time.perf_counter() - started < 1


def test_a_strip_is_not_scaled_up_to_a_large_picture() -> None:
    prepared = preprocess(np.zeros((2000, 20), np.uint8), Preprocessing(), 10**8)
    assert prepared.image.shape == (30_000, 300)
    assert preprocess(np.zeros((2000, 20), np.uint8), Preprocessing(), 10**6).image.shape == (10_000, 100)
    padded, scale = without_strip(np.zeros((4000, 40, 3), np.uint8))
    assert (padded.shape, scale) == ((2000, 400, 3), 0.5)
