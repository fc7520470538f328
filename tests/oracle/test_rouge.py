"""ROUGE against the scores of rouge-score itself."""

import json
from pathlib import Path

import pytest

from layoutray.metrics.rouge import rouge
from tests.oracle.cases import files


@pytest.mark.parametrize("file", files("metrics/rouge*.json"))
def test_every_kind_with_and_without_stemmer(file: Path) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        scores = rouge(case["prediction"], [case["target"]], stemmer=case["stemmer"])
        assert {kind: tuple(score) for kind, score in scores.items()} == {
            kind: pytest.approx(expected, abs=1e-10) for kind, expected in case["scores"].items()
        }, case
