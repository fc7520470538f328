"""Several values of a field that may have one contradict each other if their normal forms differ."""

import pytest

from layoutray.document import Field
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import contradictory

AMOUNT = {"total": FieldType(type="amount")}


@pytest.mark.parametrize(
    ("values", "contradict"),
    [
        (("12.00", "7.50"), True),
        (("12.00", "none"), True),
        (("12.00", "12,00", "7.50"), True),
        (("12.00", "12,00"), False),
        (("12.00", "12.00"), False),
        (("none",), False),
        ((), False),
    ],
)
def test_values_contradict_each_other_if_their_normal_forms_differ(values: tuple[str, ...], contradict: bool) -> None:
    fields = tuple(Field("total", value) for value in values)
    assert contradictory((*fields, Field("date", "2020-01-02")), AMOUNT) == (fields if contradict else ())


def test_several_values_of_other_fields_and_of_records_are_allowed() -> None:
    fields = (Field("total", "12.00"), Field("total", "7.50"))
    assert contradictory(fields, {"total": FieldType(type="amount", many=True)}) == ()
    assert contradictory(fields, {"date": FieldType(type="date")}) == ()
    assert contradictory((Field("total", "12.00", row=1), Field("total", "7.50", row=2)), AMOUNT) == ()
