"""Entity scores against seqeval's own, in its lenient default mode."""

import json
import math
from pathlib import Path

import pytest

from layoutray.metrics.entity_f1 import entity_f1
from tests.oracle.cases import files


@pytest.mark.parametrize("file", files("metrics/entity_f1_seqeval.json"))
def test_micro_and_macro_scores(file: Path) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        expected = case["result"]["default_lenient"]
        scores = entity_f1(case["gold"], case["pred"])
        micro = scores.pop("micro")
        shares = [share or 0.0 for share in (micro.precision, micro.recall, micro.f1)]
        assert shares == pytest.approx([expected["P"], expected["R"], expected["F1"]], abs=1e-10), case
        if not math.isnan(expected["macro_F1"]):
            assert sum(score.f1 or 0.0 for score in scores.values()) / len(scores) == pytest.approx(
                expected["macro_F1"], abs=1e-10
            ), case
