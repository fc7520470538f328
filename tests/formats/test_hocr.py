"""Pages go to hOCR and come back as they were, in whole pixels."""

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Page
from layoutray.formats.hocr import hocr
from layoutray.readers.annotation import PageSize
from layoutray.readers.results.hocr import pages_of
from layoutray.readers.results.recognised import ResultPage
from tests.formats.made_pages import pages
from tests.store.pages import page, word


def numbered(keys: Sequence[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def check_equal(sent: Page, back: ResultPage) -> None:
    assert [read.text for read in back.words] == [written.text for written in sent.words]
    for read, written in zip(back.words, sent.words, strict=True):
        assert read.sides == pytest.approx(written.box.to_pixels(sent.width, sent.height), abs=0.5)
        # hOCR has whole percents. The tiny rest is for the arithmetic of a confidence halfway between two.
        assert read.confidence == pytest.approx(written.confidence, abs=0.005 + 1e-9)
    assert numbered([read.line for read in back.words]) == numbered([written.line for written in sent.words])
    assert numbered([read.block for read in back.words]) == numbered([written.block for written in sent.words])
    assert (back.number, back.size) == (sent.number, PageSize(sent.width, sent.height))


@given(first=pages(1), third=pages(3))
def test_pages_come_back(first: Page, third: Page) -> None:
    back = pages_of(hocr([first, third]), "a.hocr")
    for sent, received in zip([first, third], back, strict=True):
        check_equal(sent, received)
        assert (received.engine, received.version) == ("tesserocr", "5.5.4 eng:9c3f")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_makes_a_well_formed_file(text: str) -> None:
    data = hocr([page("d", 1, word(text), source=f"{text}.png")])
    assert [element.get("class") for element in ElementTree.fromstring(data).iter() if element.get("id")] == [
        "ocr_page",
        "ocr_carea",
        "ocr_par",
        "ocr_line",
        "ocrx_word",
    ]


def test_a_file_names_what_it_was_made_from() -> None:
    drawn = replace(page("d", 1, word("x")), image='s3://b/a "1"; b.png')
    text = hocr([drawn, page("d", 2)]).decode()
    assert "image &quot;a %221%22; b.png&quot;; bbox 0 0 100 200; ppageno 0" in text
    assert '<meta name="ocr-system" content="tesserocr 5.5.4 eng:0" />' in text
    assert '<meta name="ocr-number-of-pages" content="2" />' in text
    assert "</div>" in text.partition('id="page_2"')[2], "browsers take an empty element, <div/>, for a start"
    silent = replace(drawn, provenance=replace(drawn.provenance, engine="", version=""))
    assert [(one.engine, one.version) for one in pages_of(hocr([silent]), "")] == [("", "")]
