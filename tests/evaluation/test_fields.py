"""Scores of expected and answered fields."""

from dataclasses import replace

import pytest

from layoutray.document import Field
from layoutray.document.answers import FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.evaluation.fields import AnsweredDocument, judge, score_fields

SCHEMA = {"party": FieldType(type="name", many=True), "total": FieldType(type="amount")}


def answer(name: str, value: str, content: str, confidence: float = 1.0) -> FieldAnswer:
    return FieldAnswer(
        name=name, value=value, content=content, confidence=confidence, score=confidence, bounding_regions=()
    )


def metrics_of(documents: list[AnsweredDocument]) -> dict[str, float]:
    return score_fields(documents, judge(documents, SCHEMA), SCHEMA).metrics()


def test_values_are_compared_as_normal_forms_as_kleister_writes_them_and_as_on_the_page() -> None:
    documents = [
        AnsweredDocument(
            [Field("party", "Nike Inc."), Field("total", "RM 9.00")],
            [answer("party", "NIKE INC.", "NIKE, Inc."), answer("total", "9", "RM 9.00")],
        ),
        AnsweredDocument([Field("party", "A")], []),
    ]
    scores = metrics_of(documents)
    assert (scores["field_f1"], scores["field_recall.party"], scores["field_f1.total"]) == (
        pytest.approx(0.8),
        0.5,
        1.0,
    )
    assert scores["geval_f1"] == pytest.approx(2 * 1 / (2 + 3)), (
        "the data set does not write the total in its normal form"
    )
    assert scores["exact_f1"] == pytest.approx(2 * 1 / (2 + 3)), "the page writes the party in another way"


@pytest.mark.parametrize(("written", "geval", "exact"), [("RM 9.00", 0, 1), ("9", 1, 0)])
def test_a_right_answer_gets_the_score_of_the_notation_of_the_data_set(written: str, geval: int, exact: int) -> None:
    scores = metrics_of([AnsweredDocument([Field("total", written)], [answer("total", "9", "RM 9.00")])])
    assert (scores["field_f1"], scores["geval_f1"], scores["exact_f1"]) == (1, geval, exact)


def test_a_known_value_is_compared_with_the_exact_value_of_the_data_set() -> None:
    read = replace(answer("party", "NIKE INC.", "NlKE, Inc."), known_value="Nike Inc.")
    assert metrics_of([AnsweredDocument([Field("party", "Nike Inc.")], [read])])["exact_f1"] == 1.0


def test_shares_without_an_answer_have_no_value() -> None:
    scores = metrics_of([AnsweredDocument([Field("party", "A")], []), AnsweredDocument([Field("total", "1")], [])])
    assert (scores["field_f1"], scores["field_recall.party"], scores["geval_f1"]) == (0.0, 0.0, 0.0)
    assert not any(name.startswith("field_precision") for name in scores)
    assert not {"field_f1", "exact_f1"} & metrics_of([]).keys()


def test_the_best_min_score_of_a_field_of_many_values_excludes_the_wrong_values() -> None:
    documents = [
        AnsweredDocument(
            [Field("party", "A"), Field("total", "1")],
            [answer("party", "A", "A", 0.75), answer("total", "2", "2", 0.125)],
        ),
        AnsweredDocument(
            [Field("party", "B"), Field("party", "D")],
            [answer("party", "B", "B", 0.5), answer("party", "C", "C", 0.25)],
        ),
    ]
    scores = metrics_of(documents)
    assert scores["best_min_score.party"] == 0.375, "halfway between B's and C's"
    assert "best_min_score.total" not in scores
    assert scores["field_f1.party"] == pytest.approx(2 * 2 / (3 + 3))
