"""Rich Attention beside ETC, each in a process of its own."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from layoutray.bench.rich_speed import MODELS
from layoutray.bench.step_speed import VOCABULARY, Case


@pytest.mark.parametrize("model", MODELS)
def test_a_step_takes_time_and_memory(model: str) -> None:
    case = Case(model, "tiny", 64, 2, compiled=False, steps=1, memory=16 * 2**30)
    command = [sys.executable, "-m", "pipelines._benchmark_rich_speed", json.dumps(asdict(case))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    assert measured["seconds"] > 0
    assert measured["bytes"] > 4 * 4 * VOCABULARY * 128, "weights, gradients and two moments of the word table alone"
