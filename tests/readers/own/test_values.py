"""A folder of one's own files with a table of their values."""

import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Field
from layoutray.errors import InputError
from layoutray.readers import load
from tests.readers.native import items, put

READER = load("values")


def fields_of(root: Path) -> dict[str, tuple[Field, ...]]:
    return {Path(key).name: READER.read(item).document.fields for (_, key), item in items(READER, root).items()}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_of_a_csv_file_are_fields_of_the_files_that_they_name(separator: str, tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(tmp_path / "deep" / "b.png", "PNG")
    put(tmp_path / "not labelled.pdf", "other")
    rows = [
        ("File", "Field", "Value"),
        ("a.pdf", "total", " 9.00"),
        ("deep/b.png", "party", f'"A{separator} B"'),
        ("a.pdf", "party", "C"),
        ("", "", ""),
        ("a.pdf", "party", '"line 1\nline 2"'),
    ]
    put(tmp_path / "values.csv", "\ufeff" + "\r\n".join(map(separator.join, rows)))
    assert fields_of(tmp_path) == {
        "a.pdf": (Field("total", "9.00"), Field("party", "C"), Field("party", "line 1\nline 2")),
        "b.png": (Field("party", f"A{separator} B"),),
    }


def test_a_column_of_each_field_states_the_values_of_a_file_in_one_row(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf", "not labelled yet.pdf"):
        put(tmp_path / name, name)
    rows = ("File;Invoice No;party;party;;", "a.pdf;12;A;B;;", "b.pdf;;C;;;", "not labelled yet.pdf;;;;;", ";;;;;")
    put(tmp_path / "values.csv", "\n".join(rows))
    assert fields_of(tmp_path) == {
        "a.pdf": (Field("Invoice No", "12"), Field("party", "A"), Field("party", "B")),
        "b.pdf": (Field("party", "C"),),
    }


@pytest.mark.parametrize("heading", ["file;field;value;;", "file;field;value"])
def test_empty_columns_that_a_spreadsheet_has_saved_are_left_out(heading: str, tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(tmp_path / "values.csv", f"{heading}\r\na.pdf;total;9,00;;\r\n;;;;\r\na.pdf;party;B\r\n")
    assert fields_of(tmp_path)["a.pdf"] == (Field("total", "9,00"), Field("party", "B"))
    put(tmp_path / "values.csv", f"{heading}\r\na.pdf;total;9,00;paid;\r\n")
    with pytest.raises(InputError, match="line 2: 5 cells; it must have 3"):
        fields_of(tmp_path)


def test_what_keeps_a_spreadsheet_from_computing_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(tmp_path / "values.csv", "file,field,value\na.pdf,phone,'+49 30 1\na.pdf,sum,'= 1\na.pdf,name,'t Hooft\n")
    assert [field.value for field in fields_of(tmp_path)["a.pdf"]] == ["+49 30 1", "= 1", "'t Hooft"]


TABLE = "file;field;value\r\nMüller.pdf;city;Köln, Übersee\r\nMüller.pdf;total;1.234,50 €\r\n"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "table",
    [
        TABLE.encode(),
        TABLE.encode("utf-8-sig"),
        TABLE.replace(";", "\t").encode("utf-16"),
        b"\xfe\xff" + TABLE.encode("utf-16-be"),
        ("sep=;\r\n" + TABLE).encode(),
        ("SEP=\t\n" + TABLE.replace(";", "\t")).encode("utf-8-sig"),
        unicodedata.normalize("NFD", TABLE).encode(),
    ],
)
def test_tables_of_excel_are_read_whatever_form_the_names_of_files_have(
    tmp_path: Path, table: bytes, form: Any
) -> None:
    put(tmp_path / unicodedata.normalize(form, "Müller.pdf"), "PDF")
    put(tmp_path / "values.csv", table)
    (fields,) = fields_of(tmp_path).values()
    values = [unicodedata.normalize("NFC", field.value) for field in fields]
    assert values == ["Köln, Übersee", "1.234,50 €"]


def test_of_two_names_that_look_alike_each_is_its_own_file(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        put(tmp_path / unicodedata.normalize(form, "Ä.pdf"), form)
    rows = [f"{unicodedata.normalize(form, 'Ä.pdf')},form,{form}" for form in ("NFC", "NFD")]
    put(tmp_path / "values.csv", "\n".join(["file,field,value", *rows]))
    by_content = {
        Path(uri).read_text(): fields
        for (_, uri), item in items(READER, tmp_path).items()
        for fields in [READER.read(item).document.fields]
    }
    assert by_content == {form: (Field("form", form),) for form in ("NFC", "NFD")}


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "cp1250", "gb18030", "shift_jis", "utf-16-le"])
def test_no_other_encoding_is_guessed(tmp_path: Path, encoding: str) -> None:
    put(tmp_path / "a.pdf", "PDF")
    place = "Köln" if encoding in ("cp1252", "mac_roman", "cp1250") else "上海"
    put(tmp_path / "values.csv", f"file;field;value\na.pdf;total;1\na.pdf;city;{place}\n".encode(encoding))
    message = (
        r"heading"
        if encoding == "utf-16-le"
        else r"values\.csv: .*not text in UTF-8: line 3 has the byte 0x.*CSV UTF-8"
    )
    with pytest.raises(InputError, match=message):
        list(READER.discover(str(tmp_path)))


def test_only_line_feeds_separate_lines_of_json(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(tmp_path / "values.jsonl", '{"file": "a.pdf", "party": "A\u2028B"}\r\n')
    assert fields_of(tmp_path) == {"a.pdf": (Field("party", "A\u2028B"),)}


def test_lines_of_json_are_documents(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    lines = [{"file": "a.pdf", "total": 9.5, "party": ["A", "B"]}]
    put(tmp_path / "values.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    (item,) = READER.discover(str(tmp_path))
    truth = READER.read(item)
    assert truth.document.fields == (Field("total", "9.5"), Field("party", "A"), Field("party", "B"))
    assert (truth.document.doc_id, truth.pages) == (hashlib.sha256(b"PDF").hexdigest(), ())


def test_a_fourth_column_numbers_the_records(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    rows = ["file,field,value,row", "a.pdf,total,3,", "a.pdf,name,tea,1", "a.pdf,name,tea,2", "a.pdf,price,3.00,2"]
    put(tmp_path / "values.csv", "\n".join(rows))
    expected = (Field("total", "3"), Field("name", "tea", 1), Field("name", "tea", 2), Field("price", "3.00", 2))
    assert fields_of(tmp_path) == {"a.pdf": expected}


def test_lists_of_objects_are_records(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    items = [{"name": "tea", "price": 3}, {"name": "milk"}]
    put(tmp_path / "values.jsonl", json.dumps({"file": "a.pdf", "items": items, "total": 3}))
    expected = (Field("name", "tea", 1), Field("price", "3", 1), Field("name", "milk", 2), Field("total", "3"))
    assert fields_of(tmp_path) == {"a.pdf": expected}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("values.csv", "", "line 1: the heading is ''; it must be 'file' and the names of fields"),
        ("values.csv", "a.pdf,total,9\n", "line 1: the heading is 'a.pdf,total,9'; it must be"),
        ("values.csv", "file;value;field\n", "must be 'file' and the names of fields, or 'file;field;value'"),
        ("values.csv", "file,field,value\na.pdf,total\n", "line 2: 2 cells; it must have 3"),
        ("values.csv", "file,field,value\n\na.pfd,total,9\n", r"line 3: no file 'a\.pfd'; did you mean 'a\.pdf'\?"),
        ("values.csv", "file,field,value\na.pdf,,\n", "line 2: no field and no value"),
        (
            "values.csv",
            "file,field,value\na.pdf,total,9\na.pdf,total,9\n",
            "line 3: total = '9' of 'a.pdf' is there twice",
        ),
        ("values.csv", "file,field,value,row\na.pdf,total,9,one\n", "line 2: row is 'one'; it must be a number from 1"),
        (
            "values.csv",
            "file,field,value,row\na.pdf,name,tea,2\na.pdf,name,tea,2\n",
            "line 3: name = 'tea' of 'a.pdf' is there twice in row 2",
        ),
        ("values.jsonl", '{"file": "a.pdf", "items": [{"name": []}]}\n', r"line 1: name is \[\]; it must be a text"),
        ("values.csv", 'file,field,value\n"' + "a" * 200_000, "not CSV .field larger than field limit"),
        ("values.jsonl", "{\n", "line 1: not JSON"),
        ("values.jsonl", '["a.pdf"]\n', "line 1: it must be an object with a text `file`"),
        ("values.jsonl", '{"file": "a.pdf", "total": null}\n', "line 1: total is None; it must be a text"),
    ],
)
def test_every_mistake_is_named_with_its_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(tmp_path / name, content)
    with pytest.raises(InputError, match=rf"(?s)mistakes in .*{name}:.*{message}"):
        list(READER.discover(str(tmp_path)))


def test_of_many_mistakes_the_first_are_named_and_the_others_are_counted(tmp_path: Path) -> None:
    put(tmp_path / "values.csv", "file,field,value\n" + "none.pdf,total,9\n" * 25)
    with pytest.raises(InputError) as caught:
        list(READER.discover(str(tmp_path)))
    assert str(caught.value).count("no file 'none.pdf'") == 10
    assert "and 15 more" in str(caught.value)


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"values\.csv or values\.jsonl"):
        list(READER.discover(str(tmp_path)))


def test_a_table_of_kinds_says_which_documents_a_packet_holds(tmp_path: Path) -> None:
    put(tmp_path / "packet.pdf", "PDF")
    put(tmp_path / "one.pdf", "other")
    put(
        tmp_path / "values.csv", "file,pages,kind\npacket.pdf,1-3,contract\npacket.pdf,5,order form\none.pdf,,invoice\n"
    )
    assert fields_of(tmp_path) == {
        "packet.pdf": (Field("part", "1-3 contract"), Field("part", "5 order form")),
        "one.pdf": (Field("part", "1- invoice"),),
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["3-1,contract"], "line 2: .*'3-1 contract'; the pages must be a number such as 4, or two such as 4-6"),
        (["0,contract"], "line 2: .*'0 contract'"),
        (["one,contract"], "line 2: .*'one contract'"),
        (["1-3,contract", "3,form"], "line 3: '3 form' and '1-3 contract' have pages in common"),
        (["5,form", ",contract"], "line 3: '1- contract' and '5 form' have pages in common"),
        (["5,"], "line 2: no value; delete the row if the file has none"),
    ],
)
def test_wrong_or_overlapping_pages_of_a_packet_are_mistakes(rows: list[str], message: str, tmp_path: Path) -> None:
    put(tmp_path / "packet.pdf", "PDF")
    put(tmp_path / "values.csv", "file,pages,kind\n" + "".join(f"packet.pdf,{row}\n" for row in rows))
    with pytest.raises(InputError, match=message):
        fields_of(tmp_path)
