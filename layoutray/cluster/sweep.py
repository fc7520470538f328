"""Ray Tune around trainings that differ in one recipe key: each value is a trial, in a process of its own; dev says which is best."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import torch
from ray import tune
from ray.exceptions import RayTaskError

from layoutray.cluster.connect import grows, num_workers
from layoutray.errors import InputError
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.training import job as jobs
from layoutray.training.job import Job

Value = int | float | str

_STATES = "ray"
"""Folder where Tune keeps its notes while it runs; a rerun goes by the jobs' own folders instead."""
_PLAIN_TUNE = {
    "RAY_AIR_NEW_OUTPUT": "0",  # its new output prints to stdout even where it is told to be silent
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # MLflow has it all
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # it would end the sweep as if that were the result
}


@dataclass(frozen=True)
class Share:
    """What the trials may use of the cluster.

    Attributes:
        at_once: trials at the same time; 0 is as many as the cores hold.
        cpus: of each trial, in Ray's logical CPUs and in threads of PyTorch.
        gpus: of each trial.
    """

    at_once: int = 0
    cpus: int = 1
    gpus: int = 0

    def __post_init__(self) -> None:
        for name, least in (("at_once", 0), ("cpus", 1), ("gpus", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least {least}")


@dataclass(frozen=True)
class Trial:
    """How the training of one value ended.

    Attributes:
        metric: the task's objective on dev at the best checkpoint; None where there is none, and `error` says why.
        seconds: of training; None when it failed, or was finished before.
        error: one line.
        trace: what Ray knows of the error.
    """

    value: Value
    job: Job
    metric: float | None
    seconds: float | None = None
    error: str = ""
    trace: str = ""


def train(
    trials: Mapping[Value, Job],
    out: str | Path,
    share: Share,
    work: Callable[[Value], None],
    ended: Callable[[Value], None],
) -> list[Trial]:
    """Train every job on the connected cluster; one that fails does not stop the others.

    Args:
        out: folder on disks that all nodes see, or an object store's address.
        work: trains the job of a value to its end, in the trial's process; has to travel there, so it is a module's function or a
            `partial` of one.
        ended: called in this process after each trial, failed or not.

    Raises:
        InputError: when data, recipe and starting checkpoint of a job do not fit together, there are no dev pages to choose by, or the
            cluster is too small for a trial; before any trial starts.
    """
    _check(trials.values(), share)
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # what failed is in the result
    os.environ.update(_PLAIN_TUNE)
    try:
        grid = tune.Tuner(
            tune.with_resources(tune.with_parameters(_work, work=work, threads=share.cpus), _resources(share)),
            param_space={"value": tune.grid_search(list(trials))},
            tune_config=tune.TuneConfig(max_concurrent_trials=share.at_once or max(num_workers() // share.cpus, 1)),
            run_config=tune.RunConfig(
                name=_STATES, storage_path=sources.absolute(str(out)), verbose=0, callbacks=[_Listener(ended)]
            ),
        ).fit()
    finally:
        sources.remove_folder(sources.join(out, _STATES))
    return [_ended(result, trials) for result in grid]


def finished(value: Value, job: Job, seconds: float | None = None) -> Trial:
    """The trial of a job that is finished."""
    metric = jobs.best(job)
    if not math.isfinite(metric):
        return Trial(value, job, None, seconds, error=f"{objective(job)} is {metric}: the training has diverged")
    return Trial(value, job, metric, seconds)


def best_first(trials: Iterable[Trial]) -> list[Trial]:
    """In the order of the metric; among equals the smaller value, which is usually the cheaper one. Trials without a metric come last."""

    def rank(trial: Trial) -> tuple[float, Any]:
        sign = 1 if trial.job.recipe.task.objective[1] == "min" else -1
        return (math.inf if trial.metric is None else sign * trial.metric), trial.value

    return sorted(trials, key=rank)


def objective(job: Job) -> str:
    """What the trials are compared by."""
    return f"dev.{job.recipe.task.objective[0]}"


def _check(every: Iterable[Job], share: Share) -> None:
    for job in every:
        jobs.rehearse(job, 1)
        if not Card.read(job.examples).examples.get("dev"):
            raise InputError(f"{job.examples} has no dev windows to choose by; encode pages that have a dev split")
    there = ray.cluster_resources()
    for kind, wanted in _resources(share).items():
        if wanted > there.get(kind, 0) and not grows():
            raise InputError(
                f"a trial asks for {wanted} {kind}, this cluster has {there.get(kind, 0):.0f}; ask for less"
            )


def _resources(share: Share) -> dict[str, float]:
    return {"CPU": share.cpus, "GPU": share.gpus}


class _Listener(tune.Callback):
    """Passes on that a trial has ended. Tune calls it in the process that runs the sweep."""

    def __init__(self, ended: Callable[[Value], None]) -> None:
        self._ended = ended

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._ended(trial.config["value"])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._ended(trial.config["value"])


def _work(config: dict[str, Any], work: Callable[[Value], None], threads: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    started = time.monotonic()
    work(config["value"])
    return {"seconds": time.monotonic() - started}


def _ended(result: tune.Result, trials: Mapping[Value, Job]) -> Trial:
    value = (result.config or {})["value"]
    if result.error is None:
        return finished(value, trials[value], (result.metrics or {})["seconds"])
    cause = result.error.cause if isinstance(result.error, RayTaskError) else result.error
    error = f"{type(cause).__name__}: {cause}".partition("\n")[0]
    return Trial(value, trials[value], None, error=error, trace=str(result.error))
