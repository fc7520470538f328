from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
from PIL import Image

from layoutray.document import Box, Provenance, Word
from layoutray.formats.invisible_text import InvisibleText
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.pdf_text import TextLayer
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded, pdf_form, picture, placed_picture, typed
from tests.ocr.files import pdf as pdf_file

SETTINGS = Recognition(dpi=144)
SCAN = encoded(picture("scanned", size=(600, 800)), "JPEG")
FULL_PAGE = placed_picture(left=0, bottom=0, width=600, height=800)


def layer_of(data: bytes, number: int = 1) -> TextLayer:
    with pdf.opened(data, SETTINGS) as document, pdf.opened_page(document, number) as page:
        return pdf_text.read(page)


def usable(data: bytes, settings: Recognition = SETTINGS) -> tuple[bool, str]:
    return pdf_text.has_usable_text(layer_of(data), settings)


def prose(mode: int = 0, font: str = "F") -> str:
    """Forty words in eight lines."""
    return "".join(
        typed("alpha beta gamma delta epsilon", x=60, y=700 - 40 * line, mode=mode, font=font) for line in range(8)
    )


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", ["", "/CropBox [50 100 450 790]"])
def test_a_box_lies_on_its_drawn_word_however_the_page_is_cropped_and_turned(rotate: int, crop: str) -> None:
    data = pdf_file(
        typed("Hippo", x=120, y=640, size=40), page_entries=f"/MediaBox [0 0 600 800] {crop} /Rotate {rotate}"
    )
    (word,) = layer_of(data).words
    image = render_page(data, 1, SETTINGS).image[..., 0]
    height, width = image.shape
    rows, columns = np.nonzero(image < 128)
    ink = columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height
    assert (word.box.x0, word.box.y0, word.box.x1, word.box.y1) == pytest.approx(ink, abs=0.005)
    assert word.text == "Hippo"
    assert word.confidence is None


def test_words_outside_the_cropped_page_are_left_out() -> None:
    data = pdf_file(
        typed("inside", x=100, y=500) + typed("outside", x=100, y=20),
        page_entries="/MediaBox [0 0 600 800] /CropBox [0 100 600 800]",
    )
    assert [word.text for word in layer_of(data).words] == ["inside"]


def test_lines_and_blocks_are_told_apart() -> None:
    content = typed("one two", x=60, y=700) + typed("three four", x=60, y=670) + typed("far below", x=60, y=300)
    words = layer_of(pdf_file(content + typed("beside", x=400, y=300))).words
    assert [word.text for word in words] == ["one", "two", "three", "four", "far", "below", "beside"]
    assert [word.line for word in words][:6] == [0, 0, 1, 1, 2, 2]
    assert [word.block for word in words][:6] == [0, 0, 0, 0, 1, 1]


def test_a_page_with_text_is_usable() -> None:
    good, reason = usable(pdf_file(prose()))
    assert good
    assert "40 words" in reason


def test_settings_can_forbid_text_layers() -> None:
    good, reason = usable(pdf_file(prose()), replace(SETTINGS, text_layer="never"))
    assert not good
    assert "never" in reason


def test_a_page_without_text_is_read_by_ocr() -> None:
    assert usable(pdf_file(FULL_PAGE, jpeg=SCAN)) == (False, "the PDF page has no text layer")


@pytest.mark.parametrize(
    "content",
    [
        FULL_PAGE + prose(mode=3),
        prose() + FULL_PAGE,
        FULL_PAGE + typed("RECEIVED 4 MAY", x=60, y=760),
        prose() + 2 * FULL_PAGE,
    ],
    ids=["invisible text", "text under the picture", "stamped", "layered scan"],
)
def test_a_scan_is_read_by_ocr_whatever_text_comes_with_it(content: str) -> None:
    good, reason = usable(pdf_file(content, jpeg=SCAN))
    assert not good
    assert "a scan" in reason


def test_visible_text_on_a_background_picture_is_usable() -> None:
    assert usable(pdf_file(FULL_PAGE + prose(), jpeg=SCAN))[0]


def test_text_beside_a_small_picture_is_usable() -> None:
    assert usable(
        pdf_file(placed_picture(left=0, bottom=0, width=200, height=200) + typed("few words", x=60, y=700), jpeg=SCAN)
    )[0]


def test_text_without_unicode_meaning_is_read_by_ocr() -> None:
    good, reason = usable(pdf_file(prose(font="G")))
    assert not good
    assert "100% of the characters" in reason


def test_a_few_odd_characters_do_not_spoil_a_page() -> None:
    assert usable(pdf_file(prose() + typed("x", x=60, y=100, font="G")))[0]


def test_what_was_typed_into_a_form_is_part_of_the_page() -> None:
    data = pdf_form("Name of applicant", "Hippolyta")
    words = layer_of(data).words
    assert [word.text for word in words] == ["Name", "of", "applicant", "Hippolyta"]
    assert (words[-1].box.x0, words[-1].box.y0) == pytest.approx((206 / 600, 272 / 800), abs=0.02)
    drawn = render_page(data, 1, replace(SETTINGS, dpi=72)).image[..., 0]
    assert drawn[260:300, 200:500].min() < 100


@pytest.mark.parametrize(
    "unseen",
    [
        typed("nobody sees", x=60, y=300, mode=3),
        "1 g " + typed("nobody sees", x=60, y=300) + "0 g ",
        typed("nobody sees", x=60, y=300) + "1 g 40 280 300 60 re f 0 g ",
        "q 0 0 600 200 re W n " + typed("nobody sees", x=60, y=300) + "Q ",
        "/OC /L BDC " + typed("nobody sees", x=60, y=300) + "EMC ",
        "q .02 0 0 .02 0 0 cm " + typed("nobody sees", x=3000, y=15000) + "Q ",
    ],
    ids=["invisible", "white", "covered", "clipped", "layer", "tiny"],
)
def test_text_that_nobody_sees_is_no_word(unseen: str) -> None:
    data = pdf_file(typed("Total due", x=60, y=700) + unseen)
    assert [word.text for word in layer_of(data).words] == ["Total", "due"]
    assert usable(data) == (
        True,
        "the PDF page has a text layer of 2 words; 2 more words, which nobody sees, are left out",
    )


OLD, NEW = typed("Total 4711", x=60, y=300), typed("Price 12", x=62, y=302)
ROUNDED = "40 300 m 40 340 l 60 360 l 300 360 l 320 340 l 320 300 l 300 280 l 60 280 l h f "


@pytest.mark.parametrize(
    "cover",
    ["1 g 40 280 300 60 re f 0 g ", "1 1 .8 rg 40 280 300 60 re 0 0 1 rg B 0 g ", f"1 g {ROUNDED} 0 g "],
    ids=["white", "framed", "of another form"],
)
def test_old_text_under_a_shape_with_new_text_is_no_word(cover: str) -> None:
    words = layer_of(pdf_file(typed("Invoice", x=60, y=700) + OLD + cover + NEW)).words
    assert [word.text for word in words] == ["Invoice", "Price", "12"]


@pytest.mark.parametrize(
    "after",
    ["40 280 300 60 re S ", "1 g 40 250 300 45 re f 0 g ", "40 305 300 1 re f ", "/M gs 1 1 0 rg 40 280 300 60 re f "],
    ids=["frame", "beside", "line through", "highlighted"],
)
def test_text_that_shapes_do_not_cover_stays(after: str) -> None:
    words = layer_of(pdf_file(OLD + after)).words
    assert [word.text for word in words] == ["Total", "4711"]


def test_text_that_is_painted_again_over_a_shape_is_read_once() -> None:
    words = layer_of(pdf_file(OLD + "1 g 40 280 300 60 re f 0 g " + OLD)).words
    assert [word.text for word in words] == ["Total", "4711"]


def test_letters_without_outlines_are_not_seen() -> None:
    words = (Word(text="unseen", box=Box(0.1, 0.5, 0.4, 0.55)),)
    page = RecognisedPage(
        number=1, width=600, height=800, words=words, provenance=Provenance(words="ocr", reason="")
    ).of_document("", "")
    with pdfium.PdfDocument(pdf_file(typed("Total due", x=60, y=700))) as document, closing(document[0]) as on:
        with InvisibleText(document, [page]) as text:
            text.write(page, on)
        for item in on.get_objects():
            pdfium_c.FPDFTextObj_SetTextRenderMode(item, pdfium_c.FPDF_TEXTRENDERMODE_FILL)
        on.gen_content()
        document.save(written := BytesIO())
    layer = layer_of(written.getvalue())
    assert ([word.text for word in layer.words], layer.num_unseen) == (["Total", "due"], 1)


@pytest.mark.parametrize("paint", ["0 g 40 280 300 60 re f 1 g ", ".9 g ", "0 0 1 rg 40 280 300 60 re f .24 0 0 rg "])
def test_text_of_any_colour_is_seen(paint: str) -> None:
    words = layer_of(pdf_file(paint + typed("white on dark - 1", x=60, y=300))).words
    assert " ".join(word.text for word in words) == "white on dark - 1"


def test_text_on_a_dark_picture_is_seen() -> None:
    dark = encoded(Image.new("L", (30, 40), 20), "JPEG")
    words = layer_of(pdf_file(FULL_PAGE + "1 g " + prose(), jpeg=dark)).words
    assert len(words) == 40


def test_an_invisible_text_over_a_picture_counts() -> None:
    scan = placed_picture(left=0, bottom=0, width=600, height=300)
    data = pdf_file(scan + typed("scanned", x=100, y=246, size=16, mode=3) + prose(), jpeg=SCAN)
    assert "scanned" in [word.text for word in layer_of(data).words]


def test_letters_that_were_drawn_as_outlines_with_invisible_text_are_read_by_ocr() -> None:
    bars = "".join(f"{60 + 9 * number} 300 4 18 re f " for number in range(20))
    good, reason = usable(pdf_file(bars + typed("as outlines", x=60, y=300, mode=3)))
    assert not good
    assert "not shown as text" in reason


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("size", [12, 24])
@pytest.mark.parametrize("at_once", [True, False])
def test_letters_that_are_painted_twice_count_once(shift: float, size: int, at_once: bool) -> None:
    letters = [(60 + 0.8 * size * number, letter) for number, letter in enumerate("TOTALEUR485")]
    painted = [(x + by, letter) for x, letter in letters for by in (0.0, shift)]
    if not at_once:
        painted = [(x + by, letter) for by in (0.0, shift) for x, letter in letters]
    content = "".join(f"BT /F {size} Tf {x} 700 Td ({letter}) Tj ET " for x, letter in painted)
    assert "".join(word.text for word in layer_of(pdf_file(content)).words) == "TOTALEUR485"


def test_equal_letters_side_by_side_stay() -> None:
    texts = "Illlll bookkeeper off 1111 ....... Mississippi"
    words = layer_of(pdf_file(typed(texts, x=60, y=700, size=9) + "-2 Tc " + typed("11000", x=60, y=600))).words
    assert " ".join(word.text for word in words) == texts + " 11000"


WIDTHS = {"A": 0.667, "C": 0.722, "E": 0.667, "I": 0.278, "N": 0.722, "O": 0.778, "T": 0.611, "V": 0.667, "X": 0.667}


@pytest.mark.parametrize("extra", [1, 6, 10, 14])
def test_letters_that_are_placed_one_by_one_are_words(extra: float) -> None:
    x, content = 60.0, typed("of a b c d e", x=60, y=500)
    for letter in "TAX INVOICE":
        content += f"BT /F 24 Tf {x} 700 Td ({letter.strip()}) Tj ET "
        x += 24 * WIDTHS.get(letter, 0.278) + extra
    words = [word.text for word in layer_of(pdf_file(content)).words]
    assert sorted(words) == sorted(["TAX", "INVOICE", "of", "a", "b", "c", "d", "e"])


def test_a_page_with_text_that_has_no_characters_is_read_by_ocr() -> None:
    columns = "".join(
        f"BT /V 12 Tf {500 - 40 * number} 700 Td <4E004E8C4E094E004E8C4E09> Tj ET " for number in range(6)
    )
    good, reason = usable(pdf_file(typed("Page 1 of 3", x=60, y=20, size=10) + columns))
    assert not good
    assert "has no characters" in reason


def test_letters_that_are_told_to_be_others_are_read_by_ocr() -> None:
    lines = ("Invoice number of the account", "Total amount due within thirty days", "Thank you for your business")
    content = "".join(typed(line, x=60, y=700 - 40 * number, font="H") for number, line in enumerate(lines))
    good, reason = usable(pdf_file(content))
    assert not good
    assert "of no language" in reason


@pytest.mark.parametrize("written", ["(CBA)", ")CBA("])
def test_brackets_of_right_to_left_text_are_as_they_are_meant(written: str) -> None:
    escaped = written.replace("(", r"\(").replace(")", r"\)")
    (word,) = layer_of(pdf_file(typed(escaped, x=60, y=700, font="R"))).words
    assert word.text == "(\u05d0\u05d1\u05d2)"


RESOURCES, BOX = "/Resources << /Font << /F 5 0 R >> >>", "/MediaBox [0 0 600 800]"
ORPHAN = "/AcroForm << /Fields [] >>"
FREE_TEXT = "/Subtype /FreeText"


@pytest.mark.parametrize("inherited", ["", RESOURCES, BOX, RESOURCES + BOX, BOX + "/CropBox [50 400 600 790]"])
def test_fields_do_not_change_the_page_that_they_are_on(inherited: str) -> None:
    # In the font of the page `A` is `É`. A page that loses its resources is drawn and read with another font.
    data = pdf_form("A Name", "Hippolyta", inherited=inherited)
    left, bottom, right, top = (50, 400, 600, 790) if "Crop" in inherited else (0, 0, 600, 800)
    words = layer_of(data).words
    assert [word.text for word in words] == ["É", "Name", "Hippolyta"]
    for word, (x, y) in ((words[0], (60, 700)), (words[2], (204, 510))):
        assert word.box.x0 == pytest.approx((x - left) / (right - left), abs=0.01)
        assert word.box.y1 == pytest.approx((top - y) / (top - bottom), abs=0.015)
    drawn = render_page(data, 1, replace(SETTINGS, dpi=72))
    assert (drawn.width, drawn.height) == (right - left, top - bottom)
    assert drawn.image[top - 540 : top - 500, 200 - left : 500 - left].min() < 100


@pytest.mark.parametrize(
    ("form", "kind"),
    [("", FREE_TEXT), (ORPHAN, FREE_TEXT), ("", "/Subtype /Widget /FT /Tx /T (name)"), (ORPHAN, "/Subtype /Widget")],
)
def test_annotations_are_part_of_the_page_without_a_form_too(form: str, kind: str) -> None:
    data = pdf_form("Name", "Hippolyta", form=form, kind=kind)
    assert [word.text for word in layer_of(data).words] == ["Name", "Hippolyta"]
    assert render_page(data, 1, replace(SETTINGS, dpi=72)).image[260:300, 200:500].min() < 100


@pytest.mark.parametrize(("flags", "seen"), [(0, True), (4, True), (2, False), (2 + 4, False), (32, False)])
@pytest.mark.parametrize("kind", [FREE_TEXT, "/Subtype /Widget /FT /Tx /T (name)"])
def test_an_annotation_is_read_if_a_viewer_shows_it(flags: int, seen: bool, kind: str) -> None:
    data = pdf_form("Name", "Hippolyta", kind=kind, flags=flags)
    assert ["Hippolyta" in word.text for word in layer_of(data).words] == [False, True][: 1 + seen]
    assert (render_page(data, 1, replace(SETTINGS, dpi=72)).image[260:300, 200:500].min() < 100) == seen


def test_a_text_that_viewers_draw_is_read_where_it_stands() -> None:
    kind = f"{FREE_TEXT} /Contents (Paid with thanks on\\r4 May by transfer)"
    data = pdf_form("Name", "ignored", form="", kind=kind, appearance="")
    words = layer_of(data).words
    assert [word.text for word in words] == ["Name", "Paid", "with", "thanks", "on"]
    for word in words[1:]:
        assert 200 / 600 <= word.box.x0 < word.box.x1 <= 500 / 600
        assert 260 / 800 <= word.box.y0 < word.box.y1 <= 300 / 800
    assert render_page(data, 1, replace(SETTINGS, dpi=72)).image[260:300, 200:500].min() < 100


def test_every_word_can_be_written_as_utf8(data_root: Path) -> None:
    for path in sorted(data_root.glob("docbank/**/*.pdf"))[:6]:
        for word in layer_of(path.read_bytes()).words:
            word.text.encode()
            assert word.text == word.text.strip() != ""


def test_real_born_digital_pages_are_usable(data_root: Path) -> None:
    for path in (
        sorted(data_root.glob("invoice2data/**/*.pdf")) + sorted(data_root.glob("kleister-nda/documents/*.pdf"))[:5]
    ):
        good, reason = usable(path.read_bytes())
        assert good, (path.name, reason)
