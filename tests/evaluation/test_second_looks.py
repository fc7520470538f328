"""Second looks: known values are trusted more, nearly known ones less, and nothing is fitted on its own document."""

from dataclasses import replace

import numpy as np
import pytest

from layoutray.document import Field
from layoutray.document.answers import FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.document.second_look import looked
from layoutray.evaluation.fields import AnsweredDocument, certainties, judge
from layoutray.evaluation.second_looks import second_looks
from layoutray.metrics.calibration import accepted_share

SCHEMA = {"vendor": FieldType(type="name"), "total": FieldType(type="amount")}


def _answer(name: str, value: str, confidence: float, reading: float = 1.0) -> FieldAnswer:
    return FieldAnswer(
        name=name,
        value=value,
        content=value,
        confidence=confidence,
        score=confidence,
        bounding_regions=(),
        reading_confidence=reading,
    )


@pytest.fixture(scope="module")
def documents() -> list[AnsweredDocument]:
    """Vendors of which a third is misread, at any confidence; totals that are always right."""
    random, made = np.random.default_rng(1), list[AnsweredDocument]()
    for number in range(300):
        vendor = f"VENDOR {'ABCDEFGHIJ'[number % 10] * 9}"
        read = vendor.replace("VENDOR", "VEND0R") if random.random() < 1 / 3 else vendor
        answers = [_answer("vendor", read, random.uniform(0.8, 0.99)), _answer("total", f"{number}.00", 0.97)]
        expected = [Field("vendor", vendor), Field("total", f"{number}.00")]
        made.append(AnsweredDocument(expected, answers, f"doc {number}"))
    return made


def test_more_answers_are_accepted_than_by_their_confidence(documents: list[AnsweredDocument]) -> None:
    looked_schema, judged = second_looks(documents, SCHEMA)
    before = judge(documents, SCHEMA)
    assert sorted(one.correct for one in judged) == sorted(one.correct for one in before)
    assert accepted_share(*certainties(before, "vendor"), 0.99) < 0.2
    assert accepted_share(*certainties(judged, "vendor"), 0.99) > 0.6
    field = looked_schema["vendor"]
    assert looked(_answer("vendor", "VENDOR AAAAAAAAA", 0.9), field) > 0.97
    assert looked(_answer("vendor", "VEND0R AAAAAAAAA", 0.9), field) < 0.1
    assert looked(_answer("vendor", "VENDOR AAAAAAAAA", 0.9), SCHEMA["vendor"]) == 0.9


def test_a_field_without_wrong_answers_keeps_high_confidences(documents: list[AnsweredDocument]) -> None:
    looked_schema, _ = second_looks(documents, SCHEMA)
    assert looked(_answer("total", "5.00", 0.97), looked_schema["total"]) >= 0.97
    assert looked(_answer("total", "5.00", 0.3), looked_schema["total"]) < 0.9


def test_an_amount_beside_a_near_one_is_trusted_less() -> None:
    made = [
        AnsweredDocument(
            [Field("total", "5.00" if number % 10 else "5.02")],
            [replace(_answer("total", "5.00", 0.95), near_amount=number % 5 == 0)],
            f"doc {number}",
        )
        for number in range(200)
    ]
    field = second_looks(made, SCHEMA)[0]["total"]
    certain, doubtful = (looked(replace(made[0].answers[0], near_amount=near), field) for near in (False, True))
    assert certain > 0.97
    assert doubtful < 0.75


def test_a_value_is_not_known_from_its_own_document() -> None:
    """Vendors that occur once say nothing, although the right answers are the values of labelled documents."""
    made: list[AnsweredDocument] = []
    for number, letter in enumerate("ABCDEFGHIJKLMNOPQRST"):
        answered = letter * 12 if number % 2 else letter + "X" * 11
        made.append(
            AnsweredDocument([Field("vendor", letter * 12)], [_answer("vendor", answered, 0.9)], f"doc {number}")
        )
    looked_schema, judged = second_looks(made, {"vendor": SCHEMA["vendor"]})
    assert len(looked_schema["vendor"].labelled_values) == len(judged) == 20
    assert looked_schema["vendor"].second_look[3] == pytest.approx(0)
