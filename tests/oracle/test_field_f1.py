"""Scores of fields against GEval's rules, worked out by hand."""

import json
from pathlib import Path

import pytest

from layoutray.metrics.field_f1 import field_f1
from tests.oracle.cases import files


@pytest.mark.parametrize("upper", [True, False], ids=["upper", "cased"])
@pytest.mark.parametrize("file", files("lambert/geval_multilabel_f1*.json"))
def test_multilabel_f1(file: Path, upper: bool) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        expected, answered = ([line.split() for line in case[side]] for side in ("expected", "got"))
        wanted = case["upper" if upper else "cased"]
        score = field_f1(expected, answered, upper=upper)["micro"]
        assert (score.correct, score.expected, score.answered) == (wanted["tp"], wanted["expected"], wanted["got"]), (
            case
        )
        shares = (1.0 if share is None else share for share in (score.precision, score.recall, score.f1))
        assert [*shares] == pytest.approx([wanted["P"], wanted["R"], wanted["F1"]], abs=1e-12), case
