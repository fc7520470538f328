import pytest

from layoutray.document.field_type import FieldType
from layoutray.document.value_part import ValuePart, value_part

DATE, AMOUNT = FieldType(type="date"), FieldType(type="amount")


@pytest.mark.parametrize(
    ("text", "form", "part"),
    [
        ("14/02/20185:37:44PM", "2018-02-14", "14/02/2018"),
        ("Date:07/02/17", "2017-02-07", "07/02/17"),
        ("12/06/2016-13:30:10-28-0001", "2016-06-12", "12/06/2016"),
        ("28/02/1812:30", "2018-02-28", "28/02/18"),
        ("2018/02/2213:34:14", "2018-02-22", "2018/02/22"),
        ("Date:12MAR2018", "2018-03-12", "12MAR2018"),
        ("27Mar201818:25", "2018-03-27", "27Mar2018"),
        ("JUN 12, 2017 10:30", "2017-06-12", "JUN 12, 2017"),
        ("4 mars 2021", "2021-03-04", "4 mars 2021"),
        ("20180304", "2018-03-04", "20180304"),
    ],
)
def test_a_date_inside_a_text(text: str, form: str, part: str) -> None:
    found = value_part(text, DATE)
    assert found
    assert (found.form, text[found.start : found.end]) == (form, part)


def test_a_text_that_states_two_dates_or_none_has_no_part() -> None:
    assert value_part("14/02/2018 01/03/2018", DATE) is None
    assert value_part("Invoice 123", DATE) is None


def test_an_amount_inside_a_text_and_one_that_is_the_text() -> None:
    assert value_part("SR=9.00@6%", AMOUNT) == ValuePart("9", 3, 7)
    assert value_part("RM 12.50", AMOUNT) == ValuePart("12.5", 0, 8), "with its currency, as people mark it"
    assert value_part("1.00x2.00=", AMOUNT) is None
    assert value_part("tax 10%:2.091", AMOUNT) == ValuePart("2091", 8, 13), "without decimals"
    assert value_part("at 08:18.00", AMOUNT) is None, "a time"
    assert value_part("15.03.18 14:59", AMOUNT) is None, "a date"


def test_other_types_are_never_a_part() -> None:
    assert value_part("Shop Ltd. 12.50", FieldType(type="name")) == ValuePart("SHOP LTD. 12.50", 0, 15)
    assert value_part(" , ", FieldType(type="name")) is None
