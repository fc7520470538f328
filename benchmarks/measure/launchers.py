"""Training speed of two launchers of the same job, run in turns on one machine, without their start-up time."""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

STEP_TIMES = "step_times.jsonl"

Launch = Callable[[Path], None]
"""Runs a whole training into a folder, with a `StepTimer` on `folder / STEP_TIMES`."""


@dataclass
class StepTimer:
    """A reporter that writes the end of each step to `file`: one JSON pair (step, seconds since 1970) per line."""

    file: Path

    def start(self, step: int, steps: int) -> None:
        """Does nothing: the start-up time counts from the launch of the processes, which is earlier."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if "loss" in values:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([step, time.time()]) + "\n")

    def saved(self, step: int, folder: Path | None) -> None:
        """Does nothing: saving a checkpoint is not a step."""


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """Speed of one training.

    Attributes:
        startup: seconds from launch to the end of the first step.
        steps_per_second: over the steps after the warm-up.
    """

    startup: float
    steps_per_second: float


@dataclass(frozen=True, slots=True)
class SpeedPair:
    """A training by the peer and one by us, run one after the other."""

    peer: TrainingSpeed
    ours: TrainingSpeed

    @property
    def ratio(self) -> float:
        """Our steps per second divided by the peer's; 1 means no overhead."""
        return self.ours.steps_per_second / self.peer.steps_per_second


def compare(peer: Launch, ours: Launch, folder: Path, *, repeats: int, warmup: int) -> Iterator[SpeedPair]:
    """Run both `repeats` times and alternate which runs first, so that a change of the machine's speed affects both.

    Args:
        folder: a new folder for each training is created in it.
        warmup: number of first steps that are not measured (caches, allocator, first collective calls).
    """
    for turn in range(repeats):
        launches = {"peer": peer, "ours": ours} if turn % 2 == 0 else {"ours": ours, "peer": peer}
        speeds = {name: _run(launch, folder / f"{name}-{turn}", warmup) for name, launch in launches.items()}
        yield SpeedPair(speeds["peer"], speeds["ours"])


def speed(ends: Mapping[int, float], launched: float, warmup: int) -> TrainingSpeed:
    """Speed of a training whose step `n` ended at second `ends[n]`, over the steps after `warmup`."""
    last = max(ends)
    return TrainingSpeed(ends[min(ends)] - launched, (last - warmup) / (ends[last] - ends[warmup]))


def summary(pairs: list[SpeedPair]) -> dict[str, float]:
    """Mean, minimum and maximum of the ratio, and the means of both sides."""
    ratios = [pair.ratio for pair in pairs]
    return {
        "ratio": statistics.fmean(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "peer_steps_per_second": statistics.fmean(pair.peer.steps_per_second for pair in pairs),
        "our_steps_per_second": statistics.fmean(pair.ours.steps_per_second for pair in pairs),
        "peer_startup_seconds": statistics.fmean(pair.peer.startup for pair in pairs),
        "our_startup_seconds": statistics.fmean(pair.ours.startup for pair in pairs),
    }


def _run(launch: Launch, folder: Path, warmup: int) -> TrainingSpeed:
    folder.mkdir(parents=True)
    launched = time.time()
    launch(folder)
    ends = dict(json.loads(line) for line in (folder / STEP_TIMES).read_text(encoding="utf-8").splitlines())
    return speed(ends, launched, warmup)
