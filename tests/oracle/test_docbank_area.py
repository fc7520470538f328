"""DocBank's area score against sums written out by hand."""

import json
from pathlib import Path

import pytest

from layoutray.metrics.docbank_area import area_scores
from tests.oracle.cases import files


@pytest.mark.parametrize("file", files("metrics/docbank_area*.json"))
def test_scores_per_class_and_their_mean(file: Path) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        areas = [[(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in doc["boxes"]] for doc in case["docs"]]
        scores = area_scores((area, doc["gold"], doc["pred"]) for area, doc in zip(areas, case["docs"], strict=True))
        macro = scores.pop("macro")
        wanted = case["result"]["macro_classes_with_gold"]
        assert (macro.precision, macro.recall, macro.f1) == pytest.approx(
            (wanted["P"], wanted["R"], wanted["F1"]), abs=1e-10
        ), case["name"]
        for name, expected in case["result"]["per_class"].items():
            found = (scores[name].precision, scores[name].recall, scores[name].f1) if name in scores else (0, 0, 0)
            assert [share or 0.0 for share in found] == pytest.approx(
                (expected["P"], expected["R"], expected["F1"]), abs=1e-10
            ), (
                case["name"],
                name,
            )
