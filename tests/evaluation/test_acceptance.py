"""Thresholds of fields: what they accept, and how they are chosen."""

from dataclasses import replace

import pytest

from layoutray.document import Field
from layoutray.errors import InputError
from layoutray.evaluation.acceptance import choose_thresholds, measure_acceptance
from layoutray.evaluation.fields import AnsweredDocument, judge, score_fields
from layoutray.metrics.acceptance import Goal
from tests.evaluation.test_fields import SCHEMA, answer


def documents() -> list[AnsweredDocument]:
    """40 documents. All totals are right; parties are right from a confidence of 0.6 on."""
    return [
        AnsweredDocument(
            [Field("total", "1"), Field("party", "A" if confidence >= 0.6 else "B")],
            [answer("total", "1", "1", confidence), answer("party", "A", "A", confidence)],
        )
        for confidence in (number / 40 for number in range(1, 41))
    ]


def test_thresholds_are_the_lowest_that_show_the_precision() -> None:
    judged = judge(documents(), SCHEMA)
    chosen = choose_thresholds(SCHEMA, judged, score_fields(documents(), judged, SCHEMA), Goal(0.8, 0.2))
    assert chosen["total"].accept_from == 1 / 40
    assert chosen["party"].accept_from is not None
    assert 0.5 < chosen["party"].accept_from <= 0.6
    assert chosen["party"].min_score == pytest.approx((0.6 + 23 / 40) / 2), "the field has many values"
    strict = choose_thresholds(SCHEMA, judged, score_fields(documents(), judged, SCHEMA), Goal(0.99, 0.1))
    assert (strict["total"].accept_from, strict["party"].accept_from) == (None, None), "40 answers show too little"


def test_coverage_and_precision_of_what_thresholds_accept() -> None:
    judged = judge(documents(), SCHEMA)
    schema = SCHEMA | {"party": replace(SCHEMA["party"], accept_from=0.55)}
    metrics = measure_acceptance(judged, schema).metrics()
    assert metrics["accepted.party"] == 19 / 40
    assert metrics["accepted_precision.party"] == 17 / 19
    assert metrics["accepted_precision_low.party"] < 17 / 19 < metrics["accepted_precision_high.party"]
    assert metrics["accepted"] == 19 / 80
    assert metrics["accepted.total"] == 0
    assert "accepted_precision.total" not in metrics


@pytest.mark.parametrize(("precision", "risk", "named"), [(1.0, 0.1, "precision is 1.0"), (0.9, 0.0, "risk is 0.0")])
def test_a_goal_that_nothing_can_show_is_refused(precision: float, risk: float, named: str) -> None:
    with pytest.raises(InputError, match=f"{named}; it must be above 0 and below 1"):
        Goal(precision, risk)
