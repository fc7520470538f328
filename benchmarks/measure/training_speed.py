"""Tokens per second of a short training, in a process of its own.

`python benchmarks/measure/training_speed.py RUN` imports layoutray from PYTHONPATH, so that it also measures another
version of it.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_HERE = Path(__file__).resolve()


@dataclass(frozen=True, kw_only=True)
class SpeedRun:
    """A training to measure.

    Attributes:
        examples: folder of EXAMPLES.
        recipe: name of a recipe, or its file.
        overrides: `KEY=VALUE` assignments to recipe keys.
        steps: measured steps, after one that warms up.
        threads: of PyTorch.
    """

    examples: str
    recipe: str
    overrides: Sequence[str]
    steps: int
    threads: int


@dataclass(frozen=True)
class Speed:
    """Tokens, without padding, and memory: medians over the steps.

    Attributes:
        per_cpu_second: of the process, which other programs on the machine hardly change; of all threads together.
        peak_mib: largest resident memory of the process.
    """

    per_second: float
    per_cpu_second: float
    peak_mib: float


class _Clock:
    """A reporter that notes speed, speed by CPU time, and peak memory of each step."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float, float]] = []
        self._last = (time.perf_counter(), time.process_time())

    def start(self, step: int, steps: int) -> None:
        """The first step warms up, so its beginning does not matter."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if "loss" in values:
            now = (time.perf_counter(), time.process_time())
            wall, cpu = (new - old for new, old in zip(now, self._last, strict=True))
            speed = values["tokens_per_second"]
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            self.steps.append((speed, speed * wall / cpu, peak))
            self._last = now

    def saved(self, step: int, folder: Path | None) -> None:
        """Saving is no part of a step."""


def measure(run: SpeedRun, code: Path) -> Speed:
    """Run it in a new process; `code` is the folder that contains the package layoutray."""
    environment = {**os.environ, "PYTHONPATH": str(code)}
    command = [sys.executable, str(_HERE), json.dumps(asdict(run))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=code)
    return Speed(*map(statistics.median, zip(*json.loads(done.stdout.splitlines()[-1]), strict=True)))


def _measure_here(run: SpeedRun) -> list[tuple[float, float, float]]:
    import torch

    from layoutray.recipe import recipes
    from layoutray.training import world
    from layoutray.training.inputs import prepare
    from layoutray.training.job import Job
    from layoutray.training.train import train

    torch.set_num_threads(run.threads)
    overrides = [*run.overrides, f"train.steps={run.steps + 1}", "train.dev_examples=1", "train.warmup_steps=0"]
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(recipe=recipes.load(run.recipe, overrides), examples=run.examples, out=folder)
        train(prepare(job, 1), world.single_process(), clock, Path(folder, "state"))
    return clock.steps[1:]


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(_measure_here(SpeedRun(**json.loads(sys.argv[1])))) + "\n")
