import hashlib
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError
from layoutray.readers import load
from tests.readers.native import items, only, put, put_picture

READER = load("invoice2data")


def test_texts_and_numbers_are_fields_and_tables_are_none(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", "PDF")
    put(
        tmp_path / "a.json",
        '[{"issuer": " ACME ", "amount": 319.0, "vat": 7740001454, "note": "", "paid": true, "due": null,'
        ' "narration": ["S1", "S2"], "lines": [{"name": "x"}], "sum": {"net": 1}}]',
    )
    truth = only(READER, tmp_path)
    names = [("issuer", "ACME"), ("amount", "319.0"), ("vat", "7740001454"), ("narration", "S1"), ("narration", "S2")]
    assert truth.document.fields == tuple(Field(*name) for name in names)
    assert (truth.document.doc_id, truth.document.num_pages, truth.pages) == (hashlib.sha256(b"PDF").hexdigest(), 0, ())


def test_the_pdf_goes_before_the_picture_and_either_may_be_missing(tmp_path: Path) -> None:
    for name in "abc":
        put(tmp_path / f"{name}.json", "[{}]")
    put(tmp_path / "a.PDF", "PDF")
    put_picture(tmp_path / "a.png")
    put_picture(tmp_path / "b.png")
    put_picture(tmp_path / "other.png")
    put(tmp_path / "deep" / "c.pdf", "of another folder")
    found = items(READER, tmp_path)
    assert [found["", name].image.rpartition("/")[2] for name in "abc"] == ["a.PDF", "b.png", ""]
    assert found["", "c"].source.endswith("c.json")


@pytest.mark.parametrize("text", ["{}", "[]", "[{}, {}]", "[1]", "[{]"])
def test_what_is_no_list_of_one_object_is_refused(tmp_path: Path, text: str) -> None:
    put(tmp_path / "a.json", text)
    with pytest.raises(DocumentError, match=r"a\.json"):
        only(READER, tmp_path)


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NAME\.json"):
        list(READER.discover(str(tmp_path)))


def test_real_invoices(data_root: Path) -> None:
    found = items(READER, data_root / "invoice2data")
    truths = {key: READER.read(item).document for (_, key), item in found.items()}
    assert all(
        {"issuer", "date", "invoice_number"} <= {field.name for field in truth.fields} for truth in truths.values()
    )
    if len(found) != 12:
        pytest.skip("the invoices that the totals are known of are not there")
    assert sum(item.image.endswith(".pdf") for item in found.values()) == 11
    assert Field("amount", "4.11") in truths["AmazonWebServices"].fields
