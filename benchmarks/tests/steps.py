"""Runs cases of the benchmarks of a training step, each in a new process."""

import json
import subprocess
import sys
from dataclasses import asdict

from benchmarks.measure.training_step import VOCABULARY, StepCase, StepCost

WEIGHTS = 4 * VOCABULARY * 128
"""Bytes of the word embedding of a tiny model; a step has four of them: weights, gradients and two moments."""
_PLENTY = 16 * 2**30


def case(model: str, *, length: int = 64, windows: int = 2, memory: int = _PLENTY) -> StepCase:
    """A step of a tiny model."""
    return StepCase(model=model, size="tiny", length=length, batch=windows, compiled=False, steps=1, memory=memory)


def run(benchmark: str, one: StepCase) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"benchmarks.commands.{benchmark}", json.dumps(asdict(one))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measured(benchmark: str, model: str) -> StepCost:
    """The cost of a step of `model`, measured by the benchmark in a new process."""
    done = run(benchmark, case(model))
    assert done.returncode == 0, done.stderr
    return StepCost(**json.loads(done.stdout.splitlines()[-1]))
