"""Trainings that differ in one recipe key, on Ray Tune. Each value is a trial in a process of its own; dev decides."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
import torch
from ray import tune
from ray.exceptions import RayTaskError

from layoutray.cluster import gpus
from layoutray.cluster.connect import grows, num_workers
from layoutray.cluster.placement import TrainingResources
from layoutray.errors import InputError
from layoutray.store import sources
from layoutray.training import job as jobs
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job

Value = int | float | str

_STATES = "ray"
"""Folder of Tune's own files while it runs. A rerun does not need them: it looks at the jobs' folders."""
_PLAIN_TUNE = {
    "RAY_AIR_NEW_OUTPUT": "0",  # the new output prints to stdout even with verbose=0
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # MLflow has all metrics
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Tune would end the sweep as if it were complete
}


@dataclass(frozen=True, kw_only=True)
class Share(TrainingResources):
    """The resources that trials may use.

    Attributes:
        at_once: number of concurrent trials; 0 is as many as the cores allow, or all if nodes may join the cluster.
    """

    at_once: int = 0
    cpus: float = 1
    max_failures: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_once < 0:
            raise InputError(f"at_once is {self.at_once}; it must be at least 0")


@dataclass(frozen=True)
class Trial:
    """How the training of one value ended.

    Attributes:
        metric: the task's objective on dev at the best checkpoint; None without dev examples, or if the trial failed or
            diverged, see `error`.
        seconds: duration of the training; None if it failed or was finished before.
        error: one line.
        trace: Ray's full description of the error.
    """

    value: Value
    job: Job
    metric: float | None
    seconds: float | None = None
    error: str = ""
    trace: str = ""


def train(
    trials: Mapping[Value, CheckedJob],
    out: str | Path,
    share: Share,
    work: Callable[[Value, torch.device], None],
    ended: Callable[[Value], None],
) -> list[Trial]:
    """Train every job on the connected cluster; a failed one does not stop the others.

    Args:
        trials: the jobs by value.
        out: folder on a disk that all nodes share, or an s3:// address.
        work: trains the job of a value to its end, in the trial's process and on the given device; must be picklable: a
            module's function or a `partial` of one.
        ended: called in this process after each trial, failed or not.

    Raises:
        InputError: if the cluster is too small for a trial; raised before any trial starts.
    """
    share = replace(share, gpus=int(gpus.of_each(1, share.gpus)))
    _check_resources(share)
    at_once = len(trials) if grows() else max(int(num_workers() / share.cpus), 1)
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # errors are in the result
    os.environ.update(_PLAIN_TUNE)
    try:
        grid = tune.Tuner(
            tune.with_resources(tune.with_parameters(_work, work=work, threads=share.num_threads), _resources(share)),
            param_space={"value": tune.grid_search(list(trials))},
            tune_config=tune.TuneConfig(max_concurrent_trials=share.at_once or at_once),
            run_config=tune.RunConfig(
                name=_STATES,
                storage_path=sources.absolute(str(out)),
                failure_config=tune.FailureConfig(max_failures=share.max_failures),
                verbose=0,
                callbacks=[_Listener(ended)],
            ),
        ).fit()
    finally:
        sources.remove_folder(sources.join(out, _STATES))
    return [_trial(result, trials) for result in grid]


def finished(value: Value, job: Job, seconds: float | None = None) -> Trial:
    """The trial of a finished job."""
    metric = jobs.best_objective(job)
    if metric is not None and not math.isfinite(metric):
        return Trial(value, job, None, seconds, error=f"{objective(job)} is {metric}: the training has diverged")
    return Trial(value, job, metric, seconds)


def best_first(trials: Iterable[Trial]) -> list[Trial]:
    """Sorted by metric, best first; ties by value, as smaller is usually cheaper. Trials without a metric come last."""

    def rank(trial: Trial) -> tuple[float, Any]:
        sign = 1 if trial.job.recipe.task.objective[1] == "min" else -1
        return (math.inf if trial.metric is None else sign * trial.metric), trial.value

    return sorted(trials, key=rank)


def objective(job: Job) -> str:
    """Name of the metric that trials are compared by."""
    return f"dev.{job.recipe.task.objective[0]}"


def _check_resources(share: Share) -> None:
    available = ray.cluster_resources()
    for kind, requested in _resources(share).items():
        if requested > available.get(kind, 0) and not grows():
            raise InputError(
                f"a trial asks for {requested} {kind}, this cluster has {available.get(kind, 0):.0f}; ask for less"
            )


def _resources(share: Share) -> dict[str, float]:
    return {"CPU": share.cpus, "GPU": share.gpus or 0}


class _Listener(tune.Callback):
    """Calls `ended` after each trial, in the process that runs the sweep."""

    def __init__(self, ended: Callable[[Value], None]) -> None:
        self._ended = ended

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._ended(trial.config["value"])

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._ended(trial.config["value"])


def _work(config: dict[str, Any], work: Callable[[Value, torch.device], None], threads: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    started = time.monotonic()
    work(config["value"], gpus.assigned_device())
    return {"seconds": time.monotonic() - started}


def _trial(result: tune.Result, trials: Mapping[Value, CheckedJob]) -> Trial:
    value = (result.config or {})["value"]
    job = trials[value].job
    if result.error is None:
        return finished(value, job, (result.metrics or {})["seconds"])
    cause = result.error.cause if isinstance(result.error, RayTaskError) else result.error
    error = f"{type(cause).__name__}: {cause}".partition("\n")[0]
    return Trial(value, job, None, error=error, trace=str(result.error))
