"""What a training worker needs to read its examples: time, memory, tokens per second; and what a training consumes.

`python -m benchmarks.measure.feed MEASUREMENT FOLDER RUN` measures in a process of its own, so that its memory is that
of a worker.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure.training_step import training_step
from layoutray import checkpoint
from layoutray.recipe import recipes
from layoutray.training.feed import Feed, recipe_feed
from layoutray.training.inputs import open_split


@dataclass(frozen=True)
class FeedRun:
    """How the feed is read.

    Attributes:
        recipe: masks the windows; the training is that of its model.
        batch_size: windows of a step; one worker reads all of them in one micro-batch.
        steps: measured steps, after a tenth as many that warm up.
    """

    recipe: str
    batch_size: int
    steps: int


@dataclass(frozen=True)
class Speed:
    """Tokens that one process handles.

    Attributes:
        per_second: by the clock.
        per_core_second: by the processor time of all threads of the process.
    """

    per_second: float
    per_core_second: float


@dataclass(frozen=True, kw_only=True)
class FeedCost:
    """What a worker needs to read its examples.

    Attributes:
        windows: number of all examples.
        first_step: seconds from opening the examples to the first batch.
        speed: of the following steps.
        own: MiB of memory that belongs to the process alone, at the end.
        mapped: MiB of files mapped into memory, at the end; the system drops them when memory is short.
    """

    windows: int
    first_step: float
    speed: Speed
    own: float
    mapped: float


def measure_feed(folder: str, run: FeedRun) -> FeedCost:
    """Read the feed of split `train` in `folder` in a new process."""
    values = _in_new_process("feed", folder, run)
    values["speed"] = Speed(**values["speed"])
    return FeedCost(**values)


def measure_training(folder: str, run: FeedRun) -> Speed:
    """Take steps of training on a batch of the feed in a new process."""
    return Speed(**_in_new_process("training", folder, run))


def _in_new_process(measurement: str, folder: str, run: FeedRun) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__, measurement, folder, json.dumps(asdict(run))]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _feed_here(folder: str, run: FeedRun) -> FeedCost:
    started = time.perf_counter()
    feed = _open(folder, run)
    feed.training(0, 0, 1)
    first_step = time.perf_counter() - started
    warm_up = max(1, run.steps // 10)
    for step in range(1, warm_up):
        feed.training(step, 0, 1)
    with _measured() as speed:
        for step in range(warm_up, warm_up + run.steps):
            speed["tokens"] += sum(part.work.tokens for part in feed.training(step, 0, 1))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, mapped = (int(status[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    return FeedCost(windows=len(feed.examples), first_step=first_step, speed=_speed(speed), own=own, mapped=mapped)


def _training_here(folder: str, run: FeedRun) -> Speed:
    feed = _open(folder, run)
    recipe = recipes.load(run.recipe)
    model = checkpoint.build_model(recipe, checkpoint.read_vocabulary(folder), ()).train()
    [part] = feed.training(0, 0, 1)
    step = training_step(model, model, part.batch, torch.device("cpu"))
    step()
    with _measured() as speed:
        for _ in range(run.steps):
            step()
            speed["tokens"] += part.work.tokens
    return _speed(speed)


def _open(folder: str, run: FeedRun) -> Feed:
    sizes = [f"train.{name}={run.batch_size}" for name in ("batch_size", "micro_batch_size")]
    recipe = recipes.load(run.recipe, sizes)
    return recipe_feed(recipe, checkpoint.read_vocabulary(folder), open_split(folder, "train"))


@contextmanager
def _measured() -> Generator[dict[str, float]]:
    """Counts the seconds of the block; the block counts its tokens."""
    values = {"tokens": 0.0, "seconds": -time.perf_counter(), "core_seconds": -time.process_time()}
    yield values
    values["seconds"] += time.perf_counter()
    values["core_seconds"] += time.process_time()


def _speed(values: Mapping[str, float]) -> Speed:
    return Speed(values["tokens"] / values["seconds"], values["tokens"] / values["core_seconds"])


if __name__ == "__main__":
    _measure = {"feed": _feed_here, "training": _training_here}[sys.argv[1]]
    sys.stdout.write(json.dumps(asdict(_measure(sys.argv[2], FeedRun(**json.loads(sys.argv[3]))))))
