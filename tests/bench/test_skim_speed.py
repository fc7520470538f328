"""A step of every model is measured in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

import pytest

from layoutray.bench.step_speed import Case, product_speed

_PLENTY = 16 * 2**30


def run(case: Case) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines._benchmark_skim_speed", json.dumps(asdict(case))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("model", ["Skimformer", "LayoutLM, SDPA", "Longformer", "LongSkimformer"])
def test_a_step_takes_time_and_memory(model: str) -> None:
    done = run(Case(model, "tiny", 64, 2, compiled=False, steps=1, memory=_PLENTY))
    assert done.returncode == 0, done.stderr
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    weights = 4 * 30_522 * 128
    assert measured["seconds"] > 0
    assert measured["bytes"] > 4 * weights, "weights, gradients and two moments of the word table alone"
    assert measured["flops"] > 6 * 128 * 2 * 12 * 128**2, "six operations for each weight of two layers and each of 128 tokens"


def test_what_needs_more_memory_than_allowed_fails_by_itself() -> None:
    done = run(Case("LayoutLM, eager", "tiny", 2048, 8, compiled=False, steps=1, memory=2 * 2**30))
    assert done.returncode != 0
    assert "memory" in done.stderr


def test_a_matrix_product_bounds_it() -> None:
    assert product_speed(size=256, repeats=2) > 1e8
