"""The time of a training step on this machine, from a short training, and what whole trainings take."""

import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch

from layoutray.cli.shared import cost
from layoutray.devices import CPU
from layoutray.tasks.model import FittedHead
from layoutray.training import inputs
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import Reporter
from layoutray.training.train import train_in_place

_STEPS = 13
_WARM_UP = 3
"""First steps of the short training that are not timed."""


@dataclass
class _Clock(Reporter):
    """A reporter that notes when each step ends."""

    ends: list[float] = field(default_factory=list[float])

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if "loss" in values:
            self.ends.append(time.perf_counter())


def seconds(job: Job, device: torch.device) -> float:
    """Median seconds of a step of `job` in this process. Its folder stays empty. A fitted head has one step."""
    train = replace(
        job.recipe.train,
        steps=_STEPS,
        warmup_steps=0,
        report_every=1,
        evaluate_every=0,
        checkpoint_every=0,
        dev_examples=1,
    )
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        short = replace(job, recipe=replace(job.recipe, train=train), out=folder)
        prepared, started = inputs.prepare(short, workers=1), time.perf_counter()
        train_in_place(prepared, worlds.single_process(device), clock)
    if isinstance(prepared.model.head, FittedHead):
        return clock.ends[0] - started
    return statistics.median(end - start for start, end in pairwise(clock.ends[_WARM_UP - 1 :]))


def estimate(job: Job, trainings: int, cores: int, threads: int, price: float) -> dict[str, Any]:
    """What trainings as long as `job` take on CPUs: `cores` of all, `threads` of each, `price` of a core per hour."""
    torch.set_num_threads(threads)
    measured = seconds(job, CPU)
    hours = trainings * job.recipe.train.steps * measured * threads / 3600
    return {"seconds a step": round(measured, 3), **cost.shown(hours, None, cores, price)}
