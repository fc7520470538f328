"""How fast training goes once it goes, and what a cluster adds to that: ours beside a peer, in turns on the same machine."""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACE = "pace.jsonl"

Run = Callable[[Path], None]
"""Trains from start to end with a `Stopwatch` on `folder / PACE`."""


@dataclass
class Stopwatch:
    """A reporter that notes when each step was done: seconds since 1970, one JSON pair (step, time) a line."""

    file: Path

    def start(self, step: int, steps: int) -> None:
        """Time counts from the launch of the run, which is earlier."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if "loss" in values:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([step, time.time()]) + "\n")

    def saved(self, step: int, folder: Path | None) -> None:
        """Saving is no step."""


@dataclass(frozen=True, slots=True)
class Pace:
    """One run.

    Attributes:
        startup: seconds from launch to the end of the first step.
        steps_per_second: after the warm-up, without start-up.
    """

    startup: float
    steps_per_second: float


@dataclass(frozen=True, slots=True)
class Pair:
    """The peer's run, and ours right after or before it."""

    peer: Pace
    ours: Pace

    @property
    def ratio(self) -> float:
        """Our steps per second over the peer's: 1 means that ours costs nothing."""
        return self.ours.steps_per_second / self.peer.steps_per_second


def compare(peer: Run, ours: Run, folder: Path, *, repeats: int, warmup: int) -> Iterator[Pair]:
    """Run both `repeats` times, the first place changing hands, so that a machine that slows down slows both.

    Args:
        folder: for the runs' folders.
        warmup: first steps that do not count (caches, allocator, first collective calls).
    """
    for turn in range(repeats):
        runs = {"peer": peer, "ours": ours} if turn % 2 == 0 else {"ours": ours, "peer": peer}
        paces = {name: _measured(run, folder / f"{name}-{turn}", warmup) for name, run in runs.items()}
        yield Pair(paces["peer"], paces["ours"])


def pace(ends: Mapping[int, float], launched: float, warmup: int) -> Pace:
    """The pace of a run whose step `n` was done at second `ends[n]`; the steps after `warmup` count."""
    last = max(ends)
    return Pace(ends[min(ends)] - launched, (last - warmup) / (ends[last] - ends[warmup]))


def summary(pairs: list[Pair]) -> dict[str, float]:
    """Mean ratio, its extremes, and the means of both sides."""
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


def _measured(run: Run, folder: Path, warmup: int) -> Pace:
    folder.mkdir(parents=True)
    launched = time.time()
    run(folder)
    ends = dict(json.loads(line) for line in (folder / PACE).read_text(encoding="utf-8").splitlines())
    return pace(ends, launched, warmup)
