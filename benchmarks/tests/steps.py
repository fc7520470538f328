"""Steps of the benchmarks of training speed, each measured in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict

from benchmarks.measure.training_step import VOCABULARY, Case, Measured

WEIGHTS = 4 * VOCABULARY * 128
"""Bytes of the word table of a tiny model, of which a step holds four: weights, gradients and two moments."""
_PLENTY = 16 * 2**30


def case(model: str, *, length: int = 64, windows: int = 2, memory: int = _PLENTY) -> Case:
    """A step of a tiny model."""
    return Case(model, "tiny", length, windows, compiled=False, steps=1, memory=memory)


def run(benchmark: str, one: Case) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"pipelines._benchmark_{benchmark}", json.dumps(asdict(one))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measured(benchmark: str, model: str) -> Measured:
    """What the benchmark's own process says about a step of `model`."""
    done = run(benchmark, case(model))
    assert done.returncode == 0, done.stderr
    return Measured(**json.loads(done.stdout.splitlines()[-1]))
