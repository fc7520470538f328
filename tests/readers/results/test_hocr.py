import json
import re
import time
from pathlib import Path

import numpy as np
import pytesseract
import pytest

from layoutray.document import Field
from layoutray.errors import Reason
from layoutray.ocr import engines
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from layoutray.readers import load
from layoutray.readers.results.hocr import pages_of
from tests.ocr.files import picture
from tests.readers.native import only, put, put_picture, refusal, texts

READER = load("hocr")
HEAD = '<html><head><title></title><meta name="ocr-system" content="tesseract 5.3.0"></head><body>'


def page(body: str, title: str = "bbox 0 0 200 100") -> str:
    return f"{HEAD}<div class='ocr_page' title='{title}'>{body}</div></body></html>"


def span(kind: str, title: str, text: str) -> str:
    return f"<span class='{kind}' title='{title}'>{text}</span>"


def test_words_with_lines_blocks_and_confidences_are_read(tmp_path: Path) -> None:
    words = [span("ocrx_word", f"bbox {10 * n} 0 {10 * n + 10} 20; x_wconf {90 + n}", f"w{n}") for n in range(5)]
    put(
        tmp_path / "a.hocr",
        page(
            "<div class='ocr_carea'><p class='ocr_par'>"
            f"<span class='ocr_line'>{words[0]} {words[1]}</span><span class='ocr_header'>{words[2]}</span></p>"
            f"<p class='ocr_par'><span class='ocr_line'>{words[3]}</span></p></div>"
            f"<div class='ocr_carea'>{words[4]}</div>"
        ),
    )
    (read,) = only(READER, tmp_path).pages
    assert [(w.text, w.line, w.block, w.confidence) for w in read.words] == [
        ("w0", 0, 0, 0.9),
        ("w1", 0, 0, 0.91),
        ("w2", 1, 0, 0.92),
        ("w3", 2, 0, 0.93),
        ("w4", 3, 1, 0.94),
    ]
    assert read.words[1].box.to_pixels(200, 100) == pytest.approx((10, 0, 20, 20))
    assert (read.width, read.height) == (200, 100)
    assert (read.provenance.engine, read.provenance.version) == ("tesseract", "5.3.0")


def test_markup_inside_words_and_lines_without_words(tmp_path: Path) -> None:
    put(
        tmp_path / "a.html",
        page(
            span("ocrx_word x", "bbox 0 0 9 9", "<strong>&Auml;r<em>ger</em></strong>")
            + span("ocrx_word", "bbox 0 0 9 9", "<ins class='alt'>hello</ins><del class='alt'>hallo</del>")
            + "<p class=ocr_par>unclosed<br>"
            + span("ocr_line", "bbox 0 50 90 60; textangle 90", "A&nbsp;B<br/>C &#26085;")
            + "<!-- <span class='ocrx_word' title='bbox 0 0 1 1'>hidden</span> -->"
            + span("ocrx_word", "x_wconf 3", "no box")
            + span("ocrx_word", "bbox 0 0 9 9", " ")
        ),
    )
    truth = only(READER, tmp_path)
    assert texts(truth) == ["Ärger", "hello", "A", "B", "C", "日"]
    assert [word.box.x0 * 200 for word in truth.pages[0].words[2:]] == pytest.approx(
        [0, 90 * 2 / 7, 90 * 4 / 7, 90 * 6 / 7]
    )
    assert truth.dropped == 2


def character(text: str, title: str = "x_bboxes 0 0 5 9; x_conf 99", kind: str = "ocrx_cinfo") -> str:
    return span(kind, title, text)


CHOICES = "<span class='ocrx_cinfo' id='lstm_choices_1'>\n{}</span>"
READINGS = {
    "characters": ("\n".join(map(character, "12.5")), "12.5"),
    "of hOCR 1.2": ("\n".join(character(each, kind="ocr_cinfo") for each in "12.5"), "12.5"),
    "considered readings": (
        "12.5\n"
        + "\n".join(CHOICES.format(character(each, "x_confs 94") + character("o", "x_confs 0")) for each in "12.5"),
        "12.5",
    ),
    "considered glyphs": (
        "12.5\n" + CHOICES.format(character("1", "x_confs 83", "ocr_glyph") + character("i", "x_confs 9", "ocr_glyph")),
        "12.5",
    ),
    "characters and considered readings": (
        "\n".join(map(character, "12")) + "\n" + CHOICES.format(character("I", "x_confs 1")),
        "12",
    ),
    "text and characters": ("12.5" + "".join(map(character, "12.5")), "12.5"),
    "a sign between characters": (character("1") + "." + character("5"), "1.5"),
    "spaced characters": (character("1") + character(" ") + character("5"), "15"),
}


@pytest.mark.parametrize("reading", READINGS)
def test_elements_of_characters_are_no_words(tmp_path: Path, reading: str) -> None:
    content, expected = READINGS[reading]
    put(tmp_path / "a.hocr", page(span("ocrx_word", "bbox 0 0 50 9", f"\n {content}\n")))
    assert texts(only(READER, tmp_path)) == [expected]


def test_a_line_of_characters_is_divided_at_its_spaces(tmp_path: Path) -> None:
    put(tmp_path / "a.hocr", page(span("ocr_line", "bbox 0 0 50 9", "\n".join(map(character, "ab c")))))
    assert texts(only(READER, tmp_path)) == ["ab", "c"]


def test_a_bad_word_costs_itself_and_a_bad_page_costs_itself(tmp_path: Path) -> None:
    bad = [
        "bbox NaN NaN NaN NaN; x_wconf 100",
        "bbox 0 0 9 9; x_wconf -1",
        "bbox 0 110 9 120",
        "bbox 0 0 9",
        "bbox a b c d",
    ]
    words = "".join(span("ocrx_word", title, "bad") for title in bad) + span("ocrx_word", "bbox 0 0 9 9", "good")
    pages = [
        span("ocr_page", f"bbox {size}; ppageno {number}", words)
        for number, size in enumerate(("0 0 200 100", "0 0 wide 100", "0 0 200 100"))
    ]
    put(tmp_path / "a.hocr", HEAD + "".join(pages))
    truth = only(READER, tmp_path)
    assert [(one.number, [word.text for word in one.words]) for one in truth.pages] == [(1, ["good"]), (3, ["good"])]
    assert truth.dropped == 2 * len(bad)
    assert "`bbox 0 0 wide 100` of an ocr_page is not 4 numbers" in str(truth.failures[2])


def test_pages_have_physical_numbers_and_file_names_may_hold_anything(tmp_path: Path) -> None:
    pages = (
        f"<div class='ocr_page' title='image \"a; bbox 1 1 1 1.png\"; bbox 0 0 10 20; ppageno {n}'>"
        f"{span('ocrx_word', 'bbox 0 0 5 5', str(n))}</div>"
        for n in (0, 2)
    )
    put(tmp_path / "a.hocr", HEAD + "".join(pages))
    read = only(READER, tmp_path).pages
    assert [(one.number, one.words[0].text, one.width) for one in read] == [(1, "0", 10), (3, "2", 10)]


def test_fields_and_picture_lie_beside_the_result(tmp_path: Path) -> None:
    put(tmp_path / "a.hocr", page(span("ocrx_word", "bbox 50 25 100 50", "9.00"), title="ppageno 0"))
    put_picture(tmp_path / "a.jpg", 200, 100)
    put(tmp_path / "a.fields.json", json.dumps({"total": "9.00"}))
    truth = only(READER, tmp_path)
    assert truth.document.fields == (Field("total", "9.00"),)
    assert (truth.pages[0].width, truth.pages[0].words[0].box.x0) == (200, 0.25)


PARAGRAPH = page(span("ocrx_word", "bbox 0 0 9 9", "§"))


@pytest.mark.parametrize(
    "data",
    [
        b"<?xml version='1.0' encoding='iso-8859-1'?>" + PARAGRAPH.encode("iso-8859-1"),
        b"<meta charset=windows-1252>" + PARAGRAPH.encode("cp1252"),
        b"\xef\xbb\xbf" + PARAGRAPH.encode(),
        PARAGRAPH.encode("utf-16"),
        PARAGRAPH.encode(),
        PARAGRAPH.replace("§", "&sect;").encode("ascii"),
    ],
)
def test_the_encoding_is_the_one_that_the_file_declares(data: bytes) -> None:
    assert [word.text for word in pages_of(data, "a")[0].words] == ["§"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html></html>", "no element of class ocr_page"),
        ("", "no element of class ocr_page"),
        (page(span("ocrx_word", "bbox 0 0 9", "x")), "`bbox 0 0 9` of an ocrx_word is not 4 numbers"),
        (page(span("ocrx_word", "bbox 0 0 9 9; x_wconf high", "x")), "`x_wconf high` .* not 1 numbers"),
        (page(span("ocrx_word", "bbox 0 0 9 9; x_wconf 101", "x")), "confidence is 1.01 of 1"),
        (span("ocrx_word", "bbox 0 0 9 9", "x") + page(""), "outside an element of class ocr_page"),
        ('<!DOCTYPE html [<!ENTITY a "b">]>' + page(""), "declares entities"),
        ("<!doctype html [<!entity a SYSTEM 'file:///etc/passwd'>]>" + page(""), "declares entities"),
        ("<div>" * 300 + page(""), "nested more than 200 deep"),
        ("<meta charset='nothing'>" + page(""), "encoding nothing"),
        ("<meta charset='hex'>" + page(""), "encoding hex"),
        ("<meta charset='ascii'>" + page("§"), "encoding ascii"),
    ],
)
def test_what_is_no_hocr_is_refused(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "a.hocr", text)
    refused = refusal(READER, tmp_path)
    assert re.search(rf"a\.hocr.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


@pytest.mark.parametrize("crafted", ["<a ", "<a x='", "<!--", "<a/", "</a ", "</a>", "<p a='b' ", "&#", "<!"])
def test_crafted_files_take_linear_time(crafted: str) -> None:
    start = time.process_time()
    assert len(pages_of((page("") + crafted * 100_000).encode(), "a")) == 1
    assert time.process_time() - start < 10, "a parser of quadratic time takes hours"


@pytest.mark.ocr
@pytest.mark.parametrize("option", ["", "-c hocr_char_boxes=1", "-c lstm_choice_mode=2"])
def test_what_tesseract_writes_is_what_it_reads(tmp_path: Path, option: str) -> None:
    shown = picture("Invoice 4711\nTotal 12.50 EUR\n\nThank you & goodbye")
    put(tmp_path / "a.hocr", pytesseract.image_to_pdf_or_hocr(shown, extension="hocr", config=f"--psm 3 {option}"))
    (read,) = only(READER, tmp_path).pages
    engine = engines.load("pytesseract")
    direct = engine.recognise(
        np.asarray(shown), TesseractSettings(psm=3, preprocessing=Preprocessing(width=0, clahe=0)), 10**8
    )
    assert [(w.text, w.line, w.block) for w in read.words] == [(w.text, w.line, w.block) for w in direct]
    assert [w.box for w in read.words] == [w.box for w in direct]
    assert [w.confidence for w in read.words] == pytest.approx([w.confidence for w in direct], abs=0.01)
    assert read.provenance.engine == "tesseract"
    assert read.provenance.version[0].isdigit()
