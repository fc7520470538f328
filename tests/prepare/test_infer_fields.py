"""Names and types of fields from the values of documents."""

from dataclasses import replace

import pytest

from layoutray import config
from layoutray.document import Document, Field
from layoutray.document.field_type import FieldType
from layoutray.document.packets import part_field
from layoutray.errors import InputError
from layoutray.prepare.infer_fields import infer_fields
from layoutray.recipe import files, recipes
from tests.documents import with_values


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", ["2014-05-07", "7 May 2014"]),
        ("date", ["26-01-2018 9:31", "12.05.20"]),
        ("date", ["20140507", "20/12/2014"]),
        ("amount", ["1,234.50", "9"]),
        ("amount", ["EUR 12,00", "(3.20)"]),
        ("mark", ["on", "☐"]),
        ("signature", ["signed", "unsigned"]),
        ("text", ["30064443", "993548900"]),
        ("text", ["120416", "120417"]),
        ("text", ["INV-0042", "INV-0043"]),
        ("text", ["9.00", "free"]),
        ("text", ["2014-05-07", "soon"]),
    ],
)
def test_a_type_fits_all_values(kind: str, values: list[str]) -> None:
    assert infer_fields(with_values(*({"it": value} for value in values)), {}).types["it"].type == kind


@pytest.mark.parametrize(
    ("month_first", "values"),
    [
        (True, ["8/9/2008", "8/23/2015"]),
        (True, ["11-21-14 9:31", "2014-11-21", "21 Nov 2014"]),
        (False, ["8/9/2008", "8/10/2008"]),
        (False, ["23/8/2015", "8/9/2008"]),
        (False, ["8/23/2015", "23.8.2015"]),
        (False, ["2014-05-17", "17 May 2014"]),
        (False, ["8/23/2015", "none"]),
    ],
)
def test_dates_say_whether_the_month_comes_first(month_first: bool, values: list[str]) -> None:
    found = infer_fields(with_values(*({"it": value} for value in values)), {})
    assert found.types["it"].month_first == month_first
    assert ("month_first" in found.task()["fields"]["it"]) == month_first


def test_fields_that_every_document_has_are_required() -> None:
    found = infer_fields(with_values(*({"total": "1.00"} | ({"tax": "2.00"} if n else {}) for n in range(5))), {})
    assert found.types == {"total": FieldType(type="amount", required=True), "tax": FieldType(type="amount")}
    assert found.documents == {"total": 5, "tax": 4}
    assert not infer_fields(with_values({"total": "1.00"}), {}).types["total"].required, "one document is no evidence"


def test_a_field_with_several_values_in_a_document_has_many_but_not_with_two_notations_of_one() -> None:
    fields = (Field("party", "Ada"), Field("party", "Bob"), Field("total", "1.00"), Field("total", "1.0"))
    found = infer_fields([Document(doc_id="d", source="", split="train", num_pages=1, fields=fields)], {})
    assert {name: one.many for name, one in found.types.items()} == {"party": True, "total": False}


def test_values_with_rows_are_fields_of_records_the_most_frequent_first() -> None:
    fields = (Field("price", "1.00", 1), Field("name", "tea", 1), Field("name", "rusk", 2), Field("total", "1.00"))
    task = infer_fields([Document(doc_id="d", source="", split="train", num_pages=1, fields=fields)], {}).task()
    assert task["records"] == {"items": {"fields": ["name", "price"]}}
    values = files.read("finetune-fields")
    made = recipes.from_dict({**values, "task": values["task"] | task})
    assert config.to_dict(made.task)["records"]["items"]["fields"] == ["name", "price"]


def test_wanted_fields_are_taken_with_their_types_and_no_others() -> None:
    found = infer_fields(with_values({"total": "1", "date": "2014-05-07"}), {"total": "amount"})
    assert found.types == {"total": FieldType(type="amount")}


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        ([{}], {}, "no document has a value; give the values"),
        ([{"total": "1"}], {"totl": ""}, "no document has a value of totl; the fields are total; correct --fields"),
    ],
)
def test_fields_without_values_are_refused(values: list[dict[str, str]], wanted: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        infer_fields(with_values(*values), wanted)


def test_a_model_may_confuse_one_value_in_five() -> None:
    made = with_values(*({"date": value} for value in ("3/4/2021", "4/4/2021", "5/4/2021", "6/4/2021", "Acme")))
    assert infer_fields(made, {}).types["date"].type == "text"
    made[0] = replace(made[0], from_model="big")
    assert infer_fields(made, {}).types["date"].type == "date"
    assert infer_fields(made[1:], {}).types["date"].type == "text", "one in four"


def test_the_documents_of_packets_are_no_fields() -> None:
    packet = Document(doc_id="a", source="a.pdf", split="", num_pages=4, fields=(part_field("contract", "1-3"),))
    with pytest.raises(InputError, match=r"which documents the files hold.*finetune-pages"):
        infer_fields([packet], {})
