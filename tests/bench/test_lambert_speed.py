"""A step of LAMBERT and of its peer is measured in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from layoutray.bench.lambert_speed import MODELS
from layoutray.bench.step_speed import Case, Measured


def measured(model: str) -> Measured:
    case = Case(model, "tiny", 64, 2, compiled=False, steps=1, memory=16 * 2**30)
    command = [sys.executable, "-m", "pipelines._benchmark_lambert_speed", json.dumps(asdict(case))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def found() -> dict[str, Measured]:
    return {model: measured(model) for model in MODELS}


def test_every_model_takes_time_and_memory(found: dict[str, Measured]) -> None:
    weights = 4 * 30_522 * 128
    assert all(one.seconds > 0 and one.bytes > 4 * weights for one in found.values())


def test_layout_costs_its_adapter(found: dict[str, Measured]) -> None:
    """A product of 128 x 128 for each of 2 x 64 tokens, forward and for its weights; ℓ has no gradient."""
    assert found["LAMBERT"].flops - found["LAMBERT, no layout"].flops == 2 * 2 * 128**2 * 2 * 64


def test_the_library_decodes_all_tokens(found: dict[str, Measured]) -> None:
    assert found["RoBERTa, SDPA"].flops > 1.5 * found["LAMBERT"].flops
