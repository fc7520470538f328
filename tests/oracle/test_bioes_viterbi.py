"""Viterbi decoding against the best of all legal sequences, found by enumeration."""

import json
from pathlib import Path

import numpy as np
import pytest

from layoutray.tasks.entities_bioes import best_legal
from tests.oracle.cases import files


@pytest.mark.parametrize("file", files("formnet/bioes_viterbi*.json"))
def test_best_path_and_its_score(file: Path) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        path, score = best_legal(np.array(case["log_probs"], np.float64).reshape(-1, len(case["tags"])), case["tags"])
        assert score == pytest.approx(case["best_score"], abs=1e-10), case
        assert [case["tags"][number] for number in path] == case["best_path"], case
