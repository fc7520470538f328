"""Searchable PDF files show what their document showed, and their words are read back."""

import io
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
from numpy.typing import NDArray
from PIL import Image

from layoutray.document import Box, Page, Provenance, Word
from layoutray.errors import DocumentError, Reason
from layoutray.formats.searchable_pdf import searchable_pdf
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.pdf_text import TextLayer
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition
from layoutray.readers import load
from tests.formats.made_pages import largest_deviation
from tests.ocr.files import encoded, picture, placed_picture, typed
from tests.ocr.files import pdf as pdf_file
from tests.readers.native import put

WORDS = (
    Word(text="Ärger", box=Box(0.1, 0.1, 0.3, 0.15)),
    Word(text="日本", box=Box(0.1, 0.3, 0.2, 0.35)),
    Word(text="שלום", box=Box(0.5, 0.7, 0.9, 0.8)),
    Word(text="x😀𝐀", box=Box(0.1, 0.85, 0.4, 0.9)),
)
SHOWN = picture("shown", size=(400, 600))
SCAN = encoded(picture("scanned", size=(600, 800)), "JPEG")
FULL_PAGE = placed_picture(left=0, bottom=0, width=600, height=800)


def page_of(file: Path, number: int = 1, words: tuple[Word, ...] = WORDS) -> Page:
    return Page(
        doc_id="d",
        number=number,
        width=400,
        height=600,
        words=words,
        source=str(file),
        image=str(file),
        split="",
        provenance=Provenance(words="ocr", reason=""),
    )


def layers(data: bytes) -> list[TextLayer]:
    with pdf.opened(data, Recognition()) as document:
        found: list[TextLayer] = []
        for number in range(len(document)):
            with closing(document[number]) as page:
                found.append(pdf_text.read(pdf.PdfPage(shown=page, merged=page)))
        return found


def texts(data: bytes) -> list[list[str]]:
    return [[word.text for word in layer.words] for layer in layers(data)]


def shown(data: bytes, number: int = 1, dpi: int = 200) -> NDArray[np.int16]:
    return render_page(data, number, Recognition(dpi=dpi)).image.astype(np.int16)


def filters(data: bytes) -> list[list[str]]:
    """The encodings of the pictures on the first page."""
    with pdfium.PdfDocument(data) as document, closing(document[0]) as page:
        return [item.get_filters() for item in page.get_objects([pdfium_c.FPDF_PAGEOBJ_IMAGE])]


@pytest.mark.parametrize(
    ("kind", "mode"), [("PNG", "RGB"), ("PNG", "1"), ("PNG", "L"), ("TIFF", "L"), ("JPEG", "CMYK")]
)
def test_pictures_are_kept_without_loss(tmp_path: Path, kind: str, mode: str) -> None:
    file = put(tmp_path / "a", encoded(SHOWN.convert(mode), kind))
    data = searchable_pdf([page_of(file)])
    kept, given = shown(data), shown(file.read_bytes())
    assert kept.shape[:2] == given.shape[:2] == (600, 400)
    assert np.abs(kept - (given if given.ndim == 3 else given[..., None])).max() == 0
    page = page_of(file)
    assert largest_deviation(WORDS, layers(data)[0].words, page) < 1
    assert filters(data) == [["FlateDecode"]]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_jpeg_pictures_are_kept_byte_for_byte_and_stand_upright(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = put(tmp_path / "a.jpg", encoded(SHOWN, "JPEG", exif=exif, quality=95))
    data = searchable_pdf([page_of(file)])
    assert filters(data) == [["DCTDecode"]]
    assert SHOWN.size == (400, 600)
    assert file.read_bytes()[-2000:] in data
    kept, given = shown(data), shown(file.read_bytes())
    assert kept.shape[:2] == given.shape[:2]
    assert np.abs(kept[..., 0] - given).mean() < 1


@pytest.mark.parametrize(
    ("dpi", "points"),
    [
        ((300, 300), (96, 144)),
        ((200, 100), (144, 432)),
        ((72, 72), (144, 216)),
        ((300, 30), (144, 216)),
        ((9600, 9600), (144, 216)),
        (None, (144, 216)),
    ],
)
def test_a_page_has_the_physical_size_of_its_scan(
    tmp_path: Path, dpi: tuple[int, int] | None, points: tuple[float, float]
) -> None:
    file = put(tmp_path / "a.png", encoded(SHOWN, "PNG", **({"dpi": dpi} if dpi else {})))
    data = searchable_pdf([page_of(file)])
    with pdfium.PdfDocument(data) as document:
        assert document[0].get_size() == pytest.approx(points, abs=0.01)
    assert largest_deviation(WORDS, layers(data)[0].words, page_of(file)) < 1


def test_pictures_of_a_tiff_file_are_pages(tmp_path: Path) -> None:
    frames = [picture(str(number), size=(400, 600)) for number in range(3)]
    file = put(tmp_path / "a.tif", encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:]))
    data = searchable_pdf([page_of(file, number, (Word(text=str(number), box=WORDS[0].box),)) for number in (1, 3)])
    assert texts(data) == [["1"], ["3"]]
    assert np.abs(shown(data, 2) - shown(file.read_bytes(), 3)[..., None]).max() == 0


def test_pages_of_several_picture_files_show_each_its_own(tmp_path: Path) -> None:
    texts_shown = ("first", "second")
    files = [put(tmp_path / f"{text}.png", encoded(picture(text, size=(400, 600)), "PNG")) for text in texts_shown]
    data = searchable_pdf([page_of(file, number) for number, file in enumerate(files, start=1)])
    for number, file in enumerate(files, start=1):
        assert np.abs(shown(data, number) - shown(file.read_bytes(), 1)[..., None]).max() == 0


def test_a_single_page_of_a_longer_document_has_its_own_picture(tmp_path: Path) -> None:
    file = put(tmp_path / "a.png", encoded(SHOWN, "PNG"))
    assert len(texts(searchable_pdf([page_of(file, 27)]))) == 1


def test_pages_of_a_pdf_file_are_kept(tmp_path: Path) -> None:
    visible = "".join(typed("alpha beta gamma delta epsilon", x=60, y=700 - 40 * line) for line in range(8))
    old = typed("old wrong layer", x=60, y=400, mode=3)
    sheets = (FULL_PAGE, visible, FULL_PAGE + old, FULL_PAGE)
    file = put(tmp_path / "a.pdf", pdf_file(*sheets, jpeg=SCAN))
    data = searchable_pdf(
        [page_of(file, number, (Word(text=f"new{number}", box=WORDS[0].box),)) for number in (1, 2, 3)]
    )
    assert texts(data) == [["new1"], ["alpha", "beta", "gamma", "delta", "epsilon"] * 8, ["new3"], []]
    for number in range(1, 5):
        assert np.abs(shown(data, number, 100) - shown(file.read_bytes(), number, 100)).max() == 0
    assert filters(data) == [["DCTDecode"]]


def with_text_in_a_form(scan: bytes, text: str) -> bytes:
    """The scan with invisible text in a form (an object with content of its own), as some OCR programs write it."""
    stream = io.BytesIO()
    layer = pdf_file(typed(text, x=60, y=400, mode=3))
    with pdfium.PdfDocument(scan) as document, pdfium.PdfDocument(layer) as source, closing(document[0]) as page:
        page.insert_obj(source.page_as_xobject(0, document).as_pageobject())
        page.gen_content()
        document.save(stream)
    return stream.getvalue()


def test_invisible_text_in_a_form_is_replaced_too(tmp_path: Path) -> None:
    data = with_text_in_a_form(pdf_file(FULL_PAGE, jpeg=SCAN), "old wrong layer")
    assert texts(data) == [["old", "wrong", "layer"]]
    made = searchable_pdf([page_of(put(tmp_path / "a.pdf", data), words=WORDS[:1])])
    assert texts(made) == [["Ärger"]]
    assert np.abs(shown(made) - shown(data)).max() == 0


def test_a_pdf_file_with_a_text_layer_stays_as_it_is(tmp_path: Path) -> None:
    file = put(tmp_path / "a.pdf", pdf_file(typed("printed", x=60, y=700)))
    assert searchable_pdf([page_of(file)]) == file.read_bytes()


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    for name, content in (("a.png", SCAN[:50]), ("b.pdf", b"%PDF-1.7 nothing")):
        with pytest.raises(DocumentError) as failed:
            searchable_pdf([page_of(put(tmp_path / name, content))])
        assert failed.value.reason == Reason.UNREADABLE
    with pytest.raises(DocumentError, match="the file has no page 7"):
        searchable_pdf([page_of(put(tmp_path / "c.pdf", pdf_file(FULL_PAGE, FULL_PAGE, jpeg=SCAN)), 7)])


@pytest.mark.parametrize("name", ["funsd", "sroie"])
def test_real_pages_come_back(data_root: Path, name: str) -> None:
    reader = load(name)
    found = (item for item in reader.discover(str(data_root / name)) if item.image)
    for item in [next(found) for _ in range(3)]:
        (page,) = reader.read(item).pages
        back = layers(searchable_pdf([replace(page, provenance=Provenance(words="ocr", reason=""))]))[0]
        assert largest_deviation(page.words, back.words, page) < 1
