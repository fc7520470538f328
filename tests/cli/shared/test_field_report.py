"""What `layoutray train` says about a model."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutray.cli.shared import field_report
from layoutray.document import Field
from layoutray.document.answers import FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.evaluation.evaluate import FieldEvaluation, evaluation_of_fields
from layoutray.evaluation.fields import AnsweredDocument
from layoutray.metrics.acceptance import Goal
from layoutray.recipe.schedule import STEPS_OF_A_START, schedule
from tests.jobs import job, recipe

SCHEMA = {"total": FieldType(type="amount"), "date": FieldType(type="date")}


def answer(name: str, value: str) -> FieldAnswer:
    return FieldAnswer(name=name, value=value, content=value, confidence=0.9, score=0.9, bounding_regions=())


def measured(*documents: tuple[Sequence[Field], Sequence[FieldAnswer]]) -> FieldEvaluation:
    return evaluation_of_fields(SCHEMA, [AnsweredDocument(*one) for one in documents])


RIGHT, WRONG, NONE = [answer("total", "12")], [answer("total", "13")], list[FieldAnswer]()
TOTAL = [Field("total", "12.00")]


def test_each_field_has_a_row_of_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = list[Sequence[Sequence[object]]]()
    monkeypatch.setattr(field_report.terminal, "show_table", lambda title, columns, rows: tables.append(rows))
    both = [*TOTAL, Field("date", "2021-02-03")]
    field_report.show(measured((both, RIGHT), (TOTAL, WRONG), (TOTAL, NONE)), job(tmp_path, recipe("entities")))
    assert tables == [[("total", 3, "0.40", "0.50", 1, 1), ("date", 1, "0.00", "no answers", 0, 1)]]
    said = capsys.readouterr().err
    assert "F1 of all fields: 0.33 (95 % interval 0.00 to " in said
    assert "2 of 3 documents answered" in said
    assert "no answer is right" not in said


def test_a_model_that_answers_nothing_says_so_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    field_report.show(measured((TOTAL, NONE), (TOTAL, NONE)), job(tmp_path, recipe("entities", steps=20)))
    said = capsys.readouterr().err
    assert "0 of 2 documents answered" in said
    assert "no answer is right: the models have seen" in said
    assert "train longer with --set train.steps=40" in said


def test_what_more_documents_would_bring_follows_from_half_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    planned = schedule(20, 20, STEPS_OF_A_START)
    documents = 20
    by_half = measured(*[(TOTAL, RIGHT if n % 2 else WRONG) for n in range(documents)])
    by_all = measured(*[(TOTAL, RIGHT if n % 4 else WRONG) for n in range(documents)])
    gained = field_report.gain(by_all, by_half, planned)
    assert 0 < gained.value < 0.25, "the error halves with twice the documents"
    field_report.show_gain(gained)
    assert "20 more documents would change F1 by about +0.1" in capsys.readouterr().err
    field_report.show_gain(None)
    assert "cannot be said from so few" in capsys.readouterr().err


def test_fields_without_a_threshold_are_named_with_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"total": FieldType(type="amount", accept_from=0.8), "date": FieldType(type="date")}
    field_report.show_thresholds(measured((TOTAL, RIGHT), (TOTAL, WRONG)), schema, Goal(0.95, 0.1))
    said = capsys.readouterr().err
    assert "total: from a confidence of 0.80, 2 answers need no look" in said
    assert "every answer of date needs a look: a precision of 0.95 is shown by 45 answers" in said
