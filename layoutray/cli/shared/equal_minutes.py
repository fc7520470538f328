"""Trainings that take equally many minutes: the steps of each, from the measured time of a step."""

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch

from layoutray.cli.shared import terminal
from layoutray.cli.shared.trial_options import TrialOptions
from layoutray.cluster.trials import run_each
from layoutray.errors import LayoutrayError
from layoutray.store import shards, sources
from layoutray.training import inputs
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import Reporter
from layoutray.training.train import train_in_place

_STEPS = 13
"""Steps of a timed training."""
_WARM_UP = 3
"""First steps of it that are not timed."""
_PACE = "pace.json"


def lasting(minutes: float, jobs: Mapping[str, Job], out: str, chosen: TrialOptions) -> dict[str, Job]:
    """Each job with steps for about `minutes` minutes of training on this machine.

    `warmup_steps` and `evaluate_every` keep their share of the steps. Steps are timed in short trainings, one at a
    time, in folders below `out`. A repeated call takes the times that are kept there.

    Raises:
        LayoutrayError: if a timed training fails, or a recipe cannot take a step in `minutes` minutes.
    """
    timed = {name: _timed(job, sources.join(out, name)) for name, job in jobs.items()}
    waiting = {name: job for name, job in timed.items() if not sources.exists(sources.join(job.out, _PACE))}
    for job in waiting.values():
        inputs.check(job, workers=1)
    if waiting:
        terminal.say(f"timing a step of {', '.join(waiting)}")
        share = replace(chosen.share(), at_once=1)
        ended = run_each([*waiting], partial(_time, waiting), share, lambda name: terminal.say(f"{name} is timed"))
        for name, one in ended.items():
            if one.error:
                raise LayoutrayError(f"{name} cannot be timed: {one.error}")
    return {name: _with_steps(name, job, timed[name], minutes) for name, job in jobs.items()}


@dataclass
class _Clock(Reporter):
    """A reporter that writes the median seconds of a step to a file."""

    folder: str
    ends: list[float] = field(default_factory=list)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if "loss" in values:
            self.ends.append(time.perf_counter())

    def saved(self, step: int, folder: Path | None) -> None:
        seconds = statistics.median(end - start for start, end in pairwise(self.ends[_WARM_UP - 1 :]))
        shards.write_bytes(json.dumps({"seconds_per_step": seconds}).encode(), self.folder, _PACE)


def _timed(job: Job, folder: str) -> Job:
    train = replace(
        job.recipe.train,
        steps=_STEPS,
        warmup_steps=0,
        report_every=1,
        evaluate_every=0,
        checkpoint_every=0,
        dev_examples=1,
    )
    return replace(job, recipe=replace(job.recipe, train=train), out=folder)


def _time(jobs: Mapping[str, Job], name: str, device: torch.device) -> None:
    """The work of a timed training's process."""
    job = jobs[name]
    train_in_place(inputs.prepare(job, workers=1), worlds.single_process(device), _Clock(str(job.out)))


def _with_steps(name: str, job: Job, timed: Job, minutes: float) -> Job:
    seconds = float(json.loads(sources.read_bytes(sources.join(timed.out, _PACE)))["seconds_per_step"])
    steps, stated = int(minutes * 60 / seconds), job.recipe.train
    if steps < 1:
        raise LayoutrayError(f"a step of {name} takes {seconds:.1f} s, longer than {minutes} minutes; give more")
    terminal.say(f"{name}: {steps} steps of {seconds:.2f} s")
    scale = steps / stated.steps
    train = replace(
        stated,
        steps=steps,
        warmup_steps=int(stated.warmup_steps * scale),
        evaluate_every=round(stated.evaluate_every * scale) or min(stated.evaluate_every, 1),
    )
    return replace(job, recipe=replace(job.recipe, train=train))
