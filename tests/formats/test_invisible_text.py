"""Words on PDF pages, read back by the reader of text layers."""

import io
from contextlib import closing

import numpy as np
import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from layoutray.document import Box, Page, Provenance, Word
from layoutray.formats.invisible_text import InvisibleText, matrix_of, page_point, visual_order
from layoutray.ocr import pdf_text
from layoutray.ocr.pdf import PdfPage
from tests.formats.made_pages import largest_deviation, pages
from tests.ocr.files import encoded, pdf, placed_picture

WHITE = encoded(Image.new("L", (8, 8), 255), "JPEG")
SCAN = placed_picture(left=0, bottom=0, width=2000, height=2000)


def written(page: Page, data: bytes = b"") -> bytes:
    """A PDF file with the words of `page` on a white scan of its size, or on the only page of the file `data`."""
    stream = io.BytesIO()
    size = f"/MediaBox [0 0 {0.36 * page.width} {0.36 * page.height}]"
    with pdfium.PdfDocument(data or pdf(SCAN, jpeg=WHITE, page_entries=size)) as document:
        with closing(document[0]) as shown, InvisibleText(document, [page]) as text:
            text.write(page, shown)
        document.save(stream)
    return stream.getvalue()


def read(data: bytes) -> pdf_text.TextLayer:
    with pdfium.PdfDocument(data) as document, closing(document[0]) as page:
        return pdf_text.read(PdfPage(shown=page, merged=page))


def of_words(*words: Word, size: tuple[int, int] = (1000, 1400)) -> Page:
    return Page(
        doc_id="d",
        number=1,
        width=size[0],
        height=size[1],
        words=words,
        source="d.png",
        image="d.png",
        split="",
        provenance=Provenance(words="ocr", reason=""),
    )


@given(pages())
def test_every_word_is_read_back_in_its_place(page: Page) -> None:
    assert largest_deviation(page.words, read(written(page)).words, page) < 1


SIDES = st.tuples(*[st.floats(0, 1)] * 2).map(sorted)


@given(across=SIDES, down=SIDES, size=st.tuples(*[st.integers(1, 4000)] * 2))
def test_a_box_may_have_no_area_and_lie_anywhere(across: list[float], down: list[float], size: tuple[int, int]) -> None:
    page = of_words(Word(text="12.50", box=Box(across[0], down[0], across[1], down[1])), size=size)
    assert largest_deviation(page.words, read(written(page)).words, page) < 1


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", ["", "/CropBox [50 100 450 790]"])
def test_words_lie_where_the_page_shows_them(rotate: int, crop: str) -> None:
    # The content leaves a changed coordinate system behind.
    entries = f"/MediaBox [0 0 600 800] {crop} /Rotate {rotate}"
    data = pdf(SCAN + "2 0 0 3 10 20 cm\n", jpeg=WHITE, page_entries=entries)
    page = of_words(*(Word(text=text, box=Box(0.1, y, 0.4, y + 0.02)) for text, y in (("upper", 0.1), ("lower", 0.8))))
    assert largest_deviation(page.words, read(written(page, data)).words, page) < 1


def test_words_are_invisible() -> None:
    page = of_words(Word(text="dark", box=Box(0.1, 0.1, 0.9, 0.3)))
    data = written(page)
    assert read(data).num_hidden == 1
    with pdfium.PdfDocument(data) as document:
        assert np.asarray(document[0].render().to_numpy()).min() == 255


def test_a_word_has_one_place_for_each_character() -> None:
    data = written(of_words(Word(text="four", box=Box(0.1, 0.2, 0.5, 0.3)), size=(1000, 1000)))
    with pdfium.PdfDocument(data) as document, closing(document[0]) as page, closing(page.get_textpage()) as text:
        boxes = [text.get_charbox(index) for index in range(4)]
    assert boxes == [pytest.approx((36 + 36 * n, 252, 72 + 36 * n, 288), abs=0.01) for n in range(4)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ärger", "Ärger"),
        ("日本", "日本"),
        ("(a)", "(a)"),
        ("שלום", "םולש"),
        ("(אב)", "(בא)"),
        ("אב12.5", "12.5בא"),
        ("אב.", ".בא"),
        ("xאב", "xבא"),
        ("12אב", "בא12"),
        ("", ""),
    ],
)
def test_characters_are_written_as_a_page_shows_them(text: str, shown: str) -> None:
    assert visual_order(text) == shown


def test_a_matrix_maps_the_unit_square_to_three_corners() -> None:
    with pdfium.PdfDocument(pdf("", page_entries="/MediaBox [0 0 600 800] /Rotate 90")) as document:
        corners = [page_point(document[0], *at) for at in ((0, 1), (1, 1), (0, 0))]
    assert [(round(x, 3), round(y, 3)) for x, y in corners] == [(600, 0), (600, 800), (0, 0)]
    matrix = matrix_of(*corners)
    assert [getattr(matrix, name) for name in "abcdef"] == pytest.approx((0, 800, -600, 0, 600, 0), abs=0.01)
