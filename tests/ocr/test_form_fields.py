from dataclasses import replace

import pytest

from layoutray.document import Box
from layoutray.document.form_answers import is_drawn
from layoutray.document.page import FormField
from layoutray.ocr import pdf
from layoutray.ocr.page import RecognisedPage, recognise_page
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition
from tests.ocr.files import FIRST_PARENT, Widget, fillable_pdf, text_field, typed
from tests.ocr.files import pdf as pdf_file

SETTINGS = Recognition(dpi=72)


def page_of(data: bytes) -> RecognisedPage:
    return recognise_page(data, 1, SETTINGS)


def fields_of(data: bytes) -> list[FormField]:
    return [*page_of(data).form_fields]


def box(name: str, *, on: bool, radio: bool = False, more: str = "") -> Widget:
    kind = "/FT /Btn /Ff 32768" if radio else "/FT /Btn"
    return Widget(entries=f"{kind} {name and f'/T ({name})'} /AS /{'Yes' if on else 'Off'} {more}", drawn="x")


def test_every_kind_of_field_states_its_value_and_state() -> None:
    widgets = [
        text_field("name", "Hippolyta"),
        text_field("address", r"1 Ant Street\nBee Town", "1 Ant Street\nBee Town"),
        text_field("empty", ""),
        Widget(entries="/FT /Ch /Ff 131072 /T (country) /Opt [[(d) (Germany)] [(f) (France)]] /V (f)", drawn="France"),
        Widget(
            entries="/FT /Ch /Ff 2097152 /T (days) /Opt [(Mon) (Tue) (Wed)] /V [(Mon) (Wed)]", drawn="Mon\nTue\nWed"
        ),
        Widget(entries="/FT /Ch /Ff 393216 /T (own) /Opt [(Mon) (Tue)] /V (never)", drawn="never"),
        box("agreed", on=True),
        box("refused", on=False, more="/V /Off"),
        Widget(entries="/FT /Btn /Ff 65536 /T (send)", drawn="Send"),
        Widget(entries="/FT /Sig /T (signed) /V << /Type /Sig >>"),
        Widget(entries="/FT /Sig /T (unsigned)"),
    ]
    below = [replace(one, area=(60, 610 - 60 * line, 360, 660 - 60 * line)) for line, one in enumerate(widgets)]
    data = fillable_pdf(*below)
    assert [(one.name, one.kind, one.value, one.on) for one in fields_of(data)] == [
        ("name", "text", "Hippolyta", None),
        ("address", "text", "1 Ant Street\nBee Town", None),
        ("empty", "text", "", None),
        ("country", "choice", "France", None),
        ("days", "choice", "Mon\nWed", None),
        ("own", "choice", "never", None),
        ("agreed", "check", "Yes", True),
        ("refused", "check", "Yes", False),
        ("signed", "signature", "", True),
        ("unsigned", "signature", "", False),
    ]
    assert all(map(is_drawn, fields_of(data)))
    assert "10 form fields" in page_of(data).provenance.reason


def test_names_are_those_of_all_parents_and_a_group_of_radio_buttons_has_one_name() -> None:
    kids = f"[{FIRST_PARENT + 2} 0 R {FIRST_PARENT + 4} 0 R]"
    data = fillable_pdf(
        box("", on=False, radio=True, more=f"/Parent {FIRST_PARENT + 1} 0 R"),
        box("", on=True, radio=True, more=f"/Parent {FIRST_PARENT + 1} 0 R"),
        parents=[
            f"/T (form) /Kids [{FIRST_PARENT + 1} 0 R]",
            f"/T (choice) /FT /Btn /Ff 32768 /Parent {FIRST_PARENT} 0 R /Kids {kids}",
        ],
    )
    assert [(one.name, one.kind, one.on) for one in fields_of(data)] == [
        ("form.choice", "radio", False),
        ("form.choice", "radio", True),
    ]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", ["", "/CropBox [50 100 450 790]"])
def test_a_box_surrounds_its_drawn_value_however_the_page_is_cropped_and_turned(rotate: int, crop: str) -> None:
    entries = f"/MediaBox [0 0 600 800] {crop} /Rotate {rotate}"
    data = fillable_pdf(text_field("name", "Hippo"), printed="", page_entries=entries)
    page = page_of(data)
    (field,), (word,) = page.form_fields, page.words
    assert field.box is not None
    assert field.box.overlap(word.box) == pytest.approx(word.box.area)
    image = render_page(data, 1, SETTINGS).image[..., 0]
    x0, y0, x1, y1 = (round(side) for side in field.box.to_pixels(page.width, page.height))
    assert (image[y0:y1, x0:x1] < 128).sum() == (image < 128).sum() > 0


@pytest.mark.parametrize(
    ("value", "drawn", "same"),
    [
        ("1200", "1200", True),
        ("1200", "9900", False),
        ("1200", "", False),
        ("", "1200", False),
        ("1234.5", "$1,234.50", True),
        ("1234.5", "$12,345.00", False),
        ("-5", "5", False),
        ("2024-03-04", "03/04/2024", True),
        ("5551234567", r"\(555\) 123-4567", True),
        ("AB12", "A B 1 2", True),
        ("No", "None", False),
    ],
)
def test_a_field_that_states_another_value_than_the_page_shows_is_known(value: str, drawn: str, same: bool) -> None:
    (field,) = fields_of(fillable_pdf(text_field("a", value, drawn), printed="Amount"))
    assert (field.value, is_drawn(field)) == (value, same)


def test_words_that_are_printed_in_the_box_of_a_field_are_not_its_value() -> None:
    data = fillable_pdf(text_field("a", "1200", area=(40, 690, 400, 740)), printed="Amount in EUR")
    (field,) = fields_of(data)
    assert field.drawn == "1200"


@pytest.mark.parametrize("form", ["", "/NeedAppearances true"])
def test_a_field_without_an_appearance_is_drawn_by_the_viewer(form: str) -> None:
    widget = Widget(entries="/FT /Tx /T (name) /V (Hippolyta Ant)")
    page = page_of(fillable_pdf(widget, form_entries=form))
    assert [one.drawn for one in page.form_fields] == ["Hippolyta Ant"]


@pytest.mark.parametrize("flags", [2, 32])
def test_a_hidden_field_states_a_value_that_the_page_does_not_show(flags: int) -> None:
    fields = fields_of(fillable_pdf(text_field("a", "1200", flags=flags)))
    assert [(one.value, one.drawn, is_drawn(one)) for one in fields] == [("1200", "", False)]


def test_a_field_outside_of_the_page_has_no_box() -> None:
    (field,) = fields_of(fillable_pdf(text_field("a", "1200", area=(900, 900, 990, 990))))
    assert (field.value, field.box, is_drawn(field)) == ("1200", None, False)


def test_a_page_without_a_form_has_no_fields() -> None:
    page = page_of(pdf_file(typed("Hippo", x=60, y=600)))
    assert page.form_fields == ()
    assert "form" not in page.provenance.reason


def test_fields_of_an_xfa_form_are_said_not_to_be_read() -> None:
    data = fillable_pdf(form_entries="/XFA (<xdp/>)")
    assert page_of(data).provenance.reason.endswith("; the fields of its XFA form are not read")


def test_a_page_of_very_many_fields_is_read_without_them() -> None:
    places = [(10 + 8 * (n % 72), 10 + 11 * (n // 72)) for n in range(pdf.MOST_FIELDS + 1)]
    page = page_of(fillable_pdf(*(text_field(f"f{x}.{y}", "v", area=(x, y, x + 7, y + 10)) for x, y in places)))
    assert page.form_fields == ()
    assert page.words
    assert "its form fields are not read: it has over 5000 annotations" in page.provenance.reason


def test_a_page_of_very_long_values_is_read_without_them() -> None:
    long = text_field("a", "x" * 900_000, "")
    assert [len(one.value) for one in fields_of(fillable_pdf(long))] == [900_000]
    page = page_of(fillable_pdf(long, text_field("b", "y" * 200_000, "")))
    assert page.form_fields == ()
    assert "or they over 1000000 characters" in page.provenance.reason


def test_parents_that_form_a_circle_end() -> None:
    data = fillable_pdf(
        Widget(entries=f"/FT /Tx /T (a) /V (b) /Parent {FIRST_PARENT} 0 R", drawn="b"),
        parents=[
            f"/T (p) /Parent {FIRST_PARENT + 1} 0 R /Kids [{FIRST_PARENT + 1} 0 R {FIRST_PARENT + 2} 0 R]",
            f"/T (q) /Parent {FIRST_PARENT} 0 R /Kids [{FIRST_PARENT} 0 R]",
        ],
    )
    assert [one.value for one in fields_of(data)] in ([], ["b"])


def test_the_box_of_a_field_is_relative_to_the_page() -> None:
    (field,) = fields_of(fillable_pdf(text_field("a", "1200", area=(60, 500, 360, 600))))
    assert field.box == Box(0.1, 0.25, 0.6, 0.375)
