from pathlib import Path

import pypdfium2.raw as pdfium_c
import pytest

from layoutray.cli.main import main
from layoutray.document import Field
from layoutray.document.field_type import FieldType
from layoutray.ocr import pdf
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.prepare.tag_fields import tag_fields
from layoutray.readers import load
from layoutray.store import sources
from tests.jobs import write_pages
from tests.ocr.files import Widget, fillable_pdf, text_field

FIELDS = """[task.fields]
total = { type = "amount", form_fields = ["sum"] }
due = { type = "date", form_fields = ["day"] }
paid = { form_fields = ["paid"] }
"""


def form(total: str, drawn: str, day: str) -> bytes:
    return fillable_pdf(
        text_field("sum", total, drawn),
        text_field("day", day, area=(60, 400, 360, 430)),
        text_field("note", "", area=(60, 300, 360, 330)),
        Widget(entries="/FT /Btn /T (paid) /AS /Yes", drawn="x", area=(60, 200, 80, 220)),
        printed="Invoice",
    )


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, bytes]:
    """Two forms, of which the second lies about its total, as files below `forms` and as pages in `pages`."""
    made = {"a.pdf": form("1234.5", "$1,234.50", "2024-03-04"), "2024/b.pdf": form("1", "900", "=1+1")}
    read = []
    for name, data in made.items():
        file = tmp_path / "forms" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        page = recognise_page(data, 1, Recognition())
        read.append(page.of_document(sources.content_id(data), str(file), str(file), "train"))
    write_pages(tmp_path / "pages", read)
    return made


@pytest.mark.usefixtures("forms")
def test_what_the_page_shows_is_written_for_the_named_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages, out, fields = str(tmp_path / "pages"), tmp_path / "values.csv", tmp_path / "fields.toml"
    fields.write_text(FIELDS)
    assert main(["export", "values", pages, str(out), "--fields", str(fields), "--suffix", ".png"]) == 0
    assert out.read_text() == (
        "file,field,value\n2024/b.png,due,'=1+1\n2024/b.png,paid,Yes\n"
        'a.png,due,2024-03-04\na.png,paid,Yes\na.png,total,"$1,234.50"\n'
    )
    said = capsys.readouterr().err
    assert "5 values of 2 files" in said
    assert "1 form fields are left out, as the page shows another value or none" in said


@pytest.mark.usefixtures("forms")
def test_without_names_all_texts_are_written_under_those_of_the_form(tmp_path: Path) -> None:
    out = tmp_path / "values.csv"
    assert main(["export", "values", str(tmp_path / "pages"), str(out)]) == 0
    assert [row.split(",")[:2] for row in out.read_text().splitlines()] == [
        ["file", "field"],
        ["2024/b.pdf", "day"],
        ["a.pdf", "day"],
        ["a.pdf", "sum"],
    ]


@pytest.mark.usefixtures("forms")
@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--fields", "{}/wrong.toml"], "no page has the form field 'sun'; compare"),
        (["--fields", "{}/none.toml"], "none.toml names no form fields"),
    ],
)
def test_mistakes_are_said(more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.toml").write_text('[task.fields]\ntotal = { form_fields = ["sun"] }')
    (tmp_path / "none.toml").write_text("[task.fields]\ntotal = {}")
    given = [one.format(tmp_path) for one in more]
    assert main(["export", "values", str(tmp_path / "pages"), str(tmp_path / "values.csv"), *given]) == 1
    assert told in capsys.readouterr().err


def test_flattened_copies_train_from_the_values_of_their_forms(forms: dict[str, bytes], tmp_path: Path) -> None:
    fields, flat = tmp_path / "fields.toml", tmp_path / "flat"
    fields.write_text('[task.fields]\ntotal = { type = "amount", form_fields = ["sum"] }')
    flat.mkdir()
    with pdf.opened(forms["a.pdf"], Recognition()) as document:
        pdfium_c.FPDFPage_Flatten(document[0], pdfium_c.FLAT_NORMALDISPLAY)
        document.save(flat / "a.pdf")
    out = flat / "values.csv"
    assert main(["export", "values", str(tmp_path / "pages"), str(out), "--fields", str(fields)]) == 0
    (reference,) = load("values").discover(str(flat))
    truth = load("values").read(reference).document.fields
    assert truth == (Field("total", "$1,234.50"),)
    page = recognise_page((flat / "a.pdf").read_bytes(), 1, Recognition())
    assert page.form_fields == ()
    (tagged,) = tag_fields([page.of_document("a", "a")], truth, {"total": FieldType(type="amount")}).pages
    assert [word.text for word in tagged.words if word.tag == "B-total"] == ["$1,234.50"]
