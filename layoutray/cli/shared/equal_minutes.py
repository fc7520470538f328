"""Trainings that take equally many minutes: the steps of each, from the measured time of a step."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch

from layoutray.cli.shared import step_time, terminal
from layoutray.cli.shared.trial_options import TrialOptions
from layoutray.cluster.trials import run_each
from layoutray.errors import LayoutrayError
from layoutray.store import shards, sources
from layoutray.training import inputs
from layoutray.training.job import Job

_PACE = "pace.json"


def lasting(minutes: float, jobs: Mapping[str, Job], out: str, chosen: TrialOptions) -> dict[str, Job]:
    """Each job with steps for about `minutes` minutes of training on this machine.

    `warmup_steps` and `evaluate_every` keep their share of the steps. Steps are timed in short trainings, one at a
    time. A repeated call takes the times that are kept below `out`.

    Raises:
        LayoutrayError: if a timed training fails, or a recipe cannot take a step in `minutes` minutes.
    """
    paces = {name: sources.join(out, name) for name in jobs}
    waiting = {name: job for name, job in jobs.items() if not sources.exists(sources.join(paces[name], _PACE))}
    for job in waiting.values():
        inputs.check(job, workers=1)
    if waiting:
        terminal.say(f"timing a step of {', '.join(waiting)}")
        share = replace(chosen.share(), at_once=1)
        ended = run_each(
            [*waiting], partial(_time, waiting, paces), share, lambda name: terminal.say(f"{name} is timed")
        )
        for name, one in ended.items():
            if one.error:
                raise LayoutrayError(f"{name} cannot be timed: {one.error}")
    timed: dict[str, Job] = {}
    for name, job in jobs.items():
        seconds = float(json.loads(sources.read_bytes(sources.join(paces[name], _PACE)))["seconds_per_step"])
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
        timed[name] = replace(job, recipe=replace(job.recipe, train=train))
    return timed


def _time(jobs: Mapping[str, Job], paces: Mapping[str, str], name: str, device: torch.device) -> None:
    pace = {"seconds_per_step": step_time.seconds(jobs[name], device)}
    shards.write_bytes(json.dumps(pace).encode(), paces[name], _PACE)
