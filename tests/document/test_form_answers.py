"""What form fields state is answered without a model, and says when the page shows something else."""

from dataclasses import replace

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.answers import Entity, Region
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import form_entities, left_to_model, values_as_drawn
from layoutray.document.page import FormField
from layoutray.tasks.field_answers import field_answers

SCHEMA = {
    "total": FieldType(type="amount", form_fields=("sum", "sum.2")),
    "days": FieldType(many=True, form_fields=("week",)),
    "paid": FieldType(form_fields=("paid",)),
}
SUM = FormField(name="sum", kind="text", value="12.5", on=None, drawn="12.50 EUR", box=Box(0.1, 0.2, 0.3, 0.4))
WEEK = FormField(name="week", kind="choice", value="Mon\nTue", on=None, drawn="Mon Tue Wed", box=None)
PAID = FormField(name="paid", kind="check", value="Yes", on=True, drawn=None, box=None)


def page(*fields: FormField) -> Page:
    return Page(
        doc_id="d",
        number=2,
        width=100,
        height=200,
        words=(Word(text="12.50", box=Box(0.1, 0.2, 0.2, 0.4)),),
        source="d",
        image="",
        split="",
        provenance=Provenance(words="text_layer", reason=""),
        form_fields=fields,
    )


def by_model(name: str, content: str) -> Entity:
    return Entity(type=name, content=content, confidence=0.9, bounding_regions=(), words=(0,))


def test_a_form_field_is_the_answer_whatever_the_model_has_found() -> None:
    found = [by_model("total", "99"), *form_entities(page(SUM, WEEK, PAID), SCHEMA), by_model("total", "98")]
    answers = field_answers(found, SCHEMA)
    assert [(one.name, one.value, one.confidence, one.accepted) for one in answers] == [
        ("total", "12.5", 1.0, True),
        ("days", "MON", 1.0, True),
        ("days", "TUE", 1.0, True),
        ("paid", "YES", 1.0, True),
    ]
    assert answers[0].bounding_regions == (Region(2, (10.0, 40.0, 30.0, 40.0, 30.0, 80.0, 10.0, 80.0)),)
    assert answers[0].reason == "the form field 'sum' of the PDF file states it"


@pytest.mark.parametrize(
    ("drawn", "told"), [("99 EUR", "but the page shows '99 EUR'"), ("", "but the page shows nothing")]
)
def test_a_form_that_lies_needs_a_look(drawn: str, told: str) -> None:
    lying = replace(SUM, drawn=drawn)
    (answer,) = field_answers(form_entities(page(lying), SCHEMA), {"total": replace(SCHEMA["total"], accept_from=0.1)})
    assert (answer.value, answer.drawn, answer.confidence, answer.accepted) == ("12.5", drawn, 0.5, False)
    assert str(answer.reason).endswith(told)
    (answer,) = field_answers(form_entities(page(SUM, lying), SCHEMA), SCHEMA)
    assert (answer.drawn, answer.accepted) == (drawn, False), "one place of two lies"


def test_form_fields_that_contradict_each_other_need_a_look() -> None:
    other = replace(SUM, name="sum.2", value="13", drawn="13")
    (answer,) = field_answers(form_entities(page(SUM, other), SCHEMA), SCHEMA)
    assert (answer.confidence, answer.accepted) == (0.5, False)


def test_empty_fields_boxes_that_are_off_and_values_of_another_type_are_left_to_the_model() -> None:
    fields = (replace(SUM, value="see below"), replace(WEEK, value=" "), replace(PAID, on=False))
    assert form_entities(page(*fields), SCHEMA) == ()
    (answer,) = field_answers([*form_entities(page(*fields), SCHEMA), by_model("total", "98")], SCHEMA)
    assert (answer.value, answer.form_field, answer.reason) == ("98", None, None)


def test_a_model_reads_only_pages_of_which_form_fields_do_not_state_everything() -> None:
    assert left_to_model(page(SUM, WEEK, PAID), SCHEMA).words == ()
    for partly in (page(SUM, WEEK), page(SUM, WEEK, replace(PAID, on=False)), page()):
        assert left_to_model(partly, SCHEMA) is partly
    assert left_to_model(page(SUM), {}) == page(SUM)


def test_a_value_is_exported_in_the_notation_that_the_page_shows() -> None:
    assert values_as_drawn(SUM) == ("12.50 EUR",)
    assert values_as_drawn(replace(SUM, value="AB", drawn="A B")) == ("AB",)
    assert values_as_drawn(WEEK) == ("Mon", "Tue")


def test_a_mark_is_on_if_a_button_of_its_name_is_and_else_off() -> None:
    schema = {name: FieldType(type="mark", form_fields=(name,)) for name in ("paid", "sent", "card", "sum")}
    sent = replace(PAID, name="sent", on=False, value="")
    card = replace(PAID, name="card", kind="radio")
    found = form_entities(page(SUM, PAID, sent, card, replace(card, on=False)), schema)
    assert [(one.name, one.value, one.accepted) for one in field_answers(found, schema)] == [
        ("paid", "on", True),
        ("sent", "off", True),
        ("card", "on", True),
    ]
