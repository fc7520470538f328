"""A document's fields from its entities: equal values are one, the best or all are answered."""

from dataclasses import replace

import pytest

from layoutray.document.answers import Entity, FieldAnswer, Region
from layoutray.document.field_type import FieldType
from layoutray.tasks.field_answers import field_answers

SCHEMA = {"party": FieldType(type="name", many=True), "total": FieldType(type="amount")}


def entity(kind: str, content: str, confidence: float, page: int = 1) -> Entity:
    return Entity(
        type=kind, content=content, confidence=confidence, bounding_regions=(Region(page, (0.0,) * 8),), words=(0,)
    )


def test_equal_values_of_all_pages_are_one_with_the_sum_of_their_scores() -> None:
    found = [entity("total", "RM 9.00", 0.4), entity("total", "8.00", 0.6), entity("total", "9", 0.5, page=2)]
    (answer,) = field_answers(found, SCHEMA)
    confidence = pytest.approx((1 - 0.6 * 0.5) * 0.9 / 1.5)
    assert answer == FieldAnswer(
        name="total",
        value="9",
        content="9",
        confidence=confidence,
        score=pytest.approx(0.9),
        bounding_regions=(Region(2, (0.0,) * 8),),
    ), "the surest of them shows it"


def test_of_several_notations_the_one_with_the_highest_sum_of_confidences_is_shown() -> None:
    found = [entity("total", "9", 0.5), entity("total", "9.00", 0.3), entity("total", "9.00", 0.4, page=2)]
    (answer,) = field_answers(found, SCHEMA)
    assert (answer.content, answer.bounding_regions[0].page_number) == ("9.00", 2)
    assert (answer.confidence, answer.score) == (pytest.approx(1 - 0.5 * 0.7 * 0.6), pytest.approx(1.2))


def test_an_answer_is_as_certain_as_its_label_and_its_letters() -> None:
    badly_read = replace(entity("party", "ACNE", 0.8), reading_confidence=0.5)
    (answer,) = field_answers([badly_read], SCHEMA)
    assert (answer.confidence, answer.score) == (pytest.approx(0.4), 0.8)
    known = {"party": FieldType(type="name", known_values=("ACME AND SONS",))}
    (answer,) = field_answers([replace(badly_read, content="ACME AND S0NS")], known)
    assert (answer.known_value, answer.confidence) == ("ACME AND SONS", pytest.approx(0.8)), "the list has its letters"


def test_a_value_that_is_the_sum_of_rows_has_a_higher_score_and_confidence_than_its_rivals() -> None:
    paid, total = entity("total", "10.00", 0.6), entity("total", "5.50", 0.5)
    (answer,) = field_answers([paid, total], SCHEMA)
    assert (answer.value, answer.score) == ("10.00", 0.6), "the page states no sum"
    marked = [replace(paid, sum_of_rows=False), replace(total, sum_of_rows=True)]
    (answer,) = field_answers(marked, SCHEMA)
    assert (answer.value, answer.score) == ("5.50", pytest.approx(5 * 0.5))
    assert answer.confidence == pytest.approx(5 / 6 * 2.5 / (2.5 + 0.12)), "odds of 1 become 5; times the share"
    (answer,) = field_answers(marked[:1], SCHEMA)
    assert (answer.score, answer.confidence) == (pytest.approx(0.6 / 5), pytest.approx(0.3 / 1.3))
    (answer,) = field_answers([replace(total, sum_of_rows=False), marked[1]], SCHEMA)
    assert answer.score == pytest.approx(5.0), "one page says that it is a sum"


@pytest.mark.parametrize("sum_of_rows", [True, False])
@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_sums_do_not_change_what_is_certain(sum_of_rows: bool, confidence: float) -> None:
    (answer,) = field_answers([replace(entity("total", "9", confidence), sum_of_rows=sum_of_rows)], SCHEMA)
    assert answer.confidence == confidence


def test_an_answer_is_accepted_from_the_threshold_of_its_field_on() -> None:
    found = [entity("party", "A", 0.75), entity("party", "B", 0.5), entity("total", "9", 1.0)]
    schema = SCHEMA | {"party": replace(SCHEMA["party"], accept_from=0.75)}
    assert [(one.value, one.accepted) for one in field_answers(found, schema)] == [
        ("A", True),
        ("B", False),
        ("9", False),
    ]


@pytest.mark.parametrize(("upper_case", "content"), [(False, "A & b Ltd"), (True, "A & B LTD")])
def test_the_content_of_an_answer_is_in_upper_case_where_the_field_says_so(upper_case: bool, content: str) -> None:
    (answer,) = field_answers(
        [entity("party", "A & b Ltd", 0.5)], {"party": FieldType(type="name", upper_case=upper_case)}
    )
    assert (answer.value, answer.content) == ("A AND B LTD.", content)


def test_a_field_of_many_values_has_them_all_from_the_best_on() -> None:
    found = [
        entity("party", "Nike, Inc.", 0.2),
        entity("party", "A & B", 0.3),
        entity("party", "a and B", 0.3),
        entity("party", "C", 0.1),
    ]
    assert [(answer.value, answer.content) for answer in field_answers(found, SCHEMA)] == [
        ("A AND B", "A & B"),
        ("NIKE INC.", "Nike, Inc."),
        ("C", "C"),
    ]


def test_values_below_the_least_score_are_no_answers() -> None:
    schema = {name: replace(field, min_score=0.5) for name, field in SCHEMA.items()}
    parties = [("A & B", 0.25), ("C", 0.75), ("a and B", 0.25), ("D", 0.4)]
    found = [*(entity("party", *one) for one in parties), entity("total", "9", 0.4)]
    assert [(answer.value, answer.score) for answer in field_answers(found, schema)] == [("C", 0.75), ("A AND B", 0.5)]


def test_answers_come_in_the_order_of_the_schema_and_of_nothing_else() -> None:
    found = [entity("total", "1", 0.9), entity("other", "x", 0.9), entity("party", "C", 0.1)]
    assert [answer.name for answer in field_answers(found, SCHEMA)] == ["party", "total"]


def test_what_is_no_value_of_its_type_is_no_answer() -> None:
    assert field_answers([entity("total", "none", 1.0), entity("party", " , ", 1.0)], SCHEMA) == ()
    assert field_answers([], SCHEMA) == ()
