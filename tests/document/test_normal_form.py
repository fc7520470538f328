"""Values that mean the same have one normal form, by the type of their field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form, value_in_answers

DATES = {
    "25/12/2018": "2018-12-25",
    "25-12-18": "2018-12-25",
    "12 MAR 2018": "2018-03-12",
    "3/4/2021": "2021-04-03",
    "2018-05-06": "2018-05-06",
    "20180506": "2018-05-06",
    "January 6, 2012": "2012-01-06",
    "6th day of January, 2012": "2012-01-06",
    "18 april 2014": "2014-04-18",
    "7. März 2014": "2014-03-07",
    "2 août 2015": "2015-08-02",
    "5 de fevereiro de 2024": "2024-02-05",
    "19 MAYIS 2023": "2023-05-19",
    "25/12/2018 14:33": "2018-12-25",
    "25122018": "2018-12-25",
    "Mar05,2017": "2017-03-05",
    "27Dec’16": "2016-12-27",
    "(21/02/18)": "2018-02-21",
    "March 2018": None,
    "12:30": None,
    "no date": None,
    "20/03/201": None,
    "04-06-2": None,
    "31/31/2018": None,
    f"{'9' * 40}m": None,
}
AMOUNTS = {
    "RM 9.00": "9",
    "RM9.50": "9.5",
    "$1,234.50": "1234.5",
    "1.234,50 €": "1234.5",
    "1 234,50": "1234.5",
    "45.000": "45000",
    "1.234.567": "1234567",
    "1,23,456.70": "123456.7",
    "0.125": "0.125",
    "-5.00": "-5",
    "(5.00)": "-5",
    "100": "100",
    "12/12/2018": None,
    "total": None,
}
TERMS = {
    "3 years": "3 years",
    "two (2) years": "2 years",
    "Two-year": "2 years",
    "twenty-four (24) months": "24 months",
    "twenty-four months": "24 months",
    "of three years": "3 years",
    "one year": "1 year",
    "some years": None,
    "3": None,
}


@pytest.mark.parametrize(
    ("kind", "text", "form"),
    [
        (kind, *pair)
        for kind, pairs in (("date", DATES), ("amount", AMOUNTS), ("term", TERMS))
        for pair in pairs.items()
    ],
)
def test_values_of_a_type_have_its_form_and_others_none(kind: str, text: str, form: str | None) -> None:
    assert normal_form(text, FieldType(type=kind)) == form  # pyright: ignore[reportArgumentType]


def test_the_order_of_day_and_month_is_the_schemas() -> None:
    assert normal_form("3/4/2021", FieldType(type="date", month_first=True)) == "2021-03-04"
    assert normal_form("25/4/2021", FieldType(type="date", month_first=True)) == "2021-04-25", (
        "it can be read one way only"
    )


def test_texts_lose_their_case_commas_and_blanks() -> None:
    assert normal_form(" Sears,  Roebuck & Co. ", FieldType(type="text")) == "SEARS ROEBUCK & CO."
    assert normal_form("Sears, Roebuck & Co.", FieldType(type="name")) == "SEARS ROEBUCK AND CO."
    assert (
        normal_form("No. 5, Jalan 3/A; 47000 Selangor.", FieldType(type="address")) == "NO 5 JALAN 3 A 47000 SELANGOR"
    )
    assert normal_form(" , ", FieldType(type="text")) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("“Nike, Inc”", "NIKE INC."),
        ("(the Acme Holding Inc.).", "THE ACME HOLDING INC."),
        ("New York.", "NEW YORK"),
        ("Partners, L.P.", "PARTNERS LP"),
        ("Colt's L.L.C.", "COLT'S LLC"),
        ("Mr. D.I.Y. (Kuchai)", "MR. D.I.Y. (KUCHAI)"),
        ('Group")', "GROUP"),
    ],
)
def test_names_lose_what_a_sentence_puts_around_them(text: str, form: str) -> None:
    assert normal_form(text, FieldType(type="name")) == form


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("amount", "RM 1,086.00", "1086.00"),
        ("amount", "(86,50) €", "-86.50"),
        ("amount", "86", "86"),
        ("amount", "1.086", "1086"),
        ("amount", "0.500", "0.5"),
        ("amount", "1.0010", "1.0010"),
        ("amount", "none", None),
        ("text", "86.00", "86.00"),
        ("date", "4 March 2021", "2021-03-04"),
    ],
)
def test_amounts_of_answers_keep_two_printed_decimals(kind: str, text: str, value: str | None) -> None:
    assert value_in_answers(text, FieldType(type=kind)) == value  # pyright: ignore[reportArgumentType]


@given(st.from_regex(r"-?[0-9]{1,5}([.,][0-9]{1,4})?([.,][0-9]{2})?", fullmatch=True))
def test_amounts_of_answers_have_the_normal_form_of_their_text(text: str) -> None:
    value, amount = value_in_answers(text, FieldType(type="amount")), FieldType(type="amount")
    assert (value and normal_form(value, amount)) == normal_form(text, amount)


@given(st.text(max_size=30), st.sampled_from(["text", "name", "address", "date", "amount", "term"]))
def test_any_text_has_a_form_or_none_and_forms_stay_as_they_are(text: str, kind: str) -> None:
    field = FieldType(type=kind)  # pyright: ignore[reportArgumentType]
    form = normal_form(text, field)
    assert form is None or normal_form(form, field) == form
