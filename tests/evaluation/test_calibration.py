"""Calibration of answered fields."""

import pytest

from layoutray.document import Field
from layoutray.evaluation.calibration import calibrate_fields
from layoutray.evaluation.fields import AnsweredDocument, judge
from tests.evaluation.test_fields import SCHEMA, answer


def test_no_answers_are_no_mistakes() -> None:
    assert calibrate_fields([], SCHEMA).metrics() == {
        "field_ece": 0,
        "accepted_at_99": 0,
        "accepted_at_99.party": 0,
        "accepted_at_99.total": 0,
    }


def test_each_field_is_accepted_from_its_most_confident_answer_on() -> None:
    documents = [
        AnsweredDocument(
            [Field("party", "A"), Field("total", "RM 1.00")],
            [answer("party", "A", "A", 0.75), answer("total", "1", "1.0", 0.5)],
        ),
        AnsweredDocument(
            [Field("party", "B"), Field("total", "2")],
            [answer("party", "B", "B", 0.5), answer("party", "C", "C", 0.25)],
        ),
        AnsweredDocument([Field("total", "3")], [answer("total", "4", "4", 1.0)]),
    ]
    assert calibrate_fields(judge(documents, SCHEMA), SCHEMA).metrics() == {
        "field_ece": pytest.approx((0.25 + 0.5 + 0.5 + 0.25 + 1.0) / 5),
        "accepted_at_99": 0,
        "accepted_at_99.party": pytest.approx(2 / 3),
        "accepted_at_99.total": 0,
    }
