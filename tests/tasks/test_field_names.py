"""Fields as a person names them: their types follow from the names, in nine languages."""

import pytest

from layoutray.errors import InputError
from layoutray.tasks.field_names import asked_fields, type_of


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("date", "date invoice_date dueDate Rechnungsdatum fecha data tarih"),
        ("amount", "total total_incl_vat subtotal Gesamtbetrag totale toplam TVA"),
        ("name", "vendor vendor_name company Firma customer fournisseur"),
        ("address", "address Adresse indirizzo delivery_address"),
        ("text", "number iban phone colour purchase_order Rechnungsnummer"),
    ],
)
def test_the_type_follows_from_the_name(kind: str, names: str) -> None:
    assert {name: type_of(name).type for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_only_a_total_is_the_sum_of_the_rows() -> None:
    assert [name for name in ("total", "Gesamtbetrag", "subtotal", "tax", "date") if type_of(name).is_sum] == [
        "total",
        "Gesamtbetrag",
    ]


def test_names_with_and_without_types() -> None:
    fields = asked_fields("vendor, due : date,x:amount , total:text,")
    assert {name: field.type for name, field in fields.items()} == {
        "vendor": "name",
        "due": "date",
        "x": "amount",
        "total": "text",
    }
    assert all(field.required for field in fields.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" , ", "0 fields are named; name 1 to 64"),
        ("date, date", "the field 'date' is there twice"),
        ("total:money", "the field 'total' has the type 'money'; a type is one of text, name"),
        ("invoice number; due date", "the field 'invoice number; due date' looks like several; put commas between"),
        ("total\ndate", "looks like several"),
        ("total, #", "the field '#' has no letter or digit"),
        (",".join(map(str, range(65))), "65 fields are named"),
    ],
)
def test_what_names_no_field_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_fields(text)
