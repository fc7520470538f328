"""Trials on a Ray cluster: the same work for several names, each in a process of its own."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ray
import torch
from ray.exceptions import RayError, RayTaskError

from layoutray.cluster import gpus
from layoutray.cluster.connect import grows, num_workers
from layoutray.cluster.placement import TrainingResources
from layoutray.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Share(TrainingResources):
    """The resources that trials may use. `at_once`: 0 for as many as the cores allow, or all if nodes may join."""

    at_once: int = 0
    cpus: float = 1
    max_failures: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_once < 0:
            raise InputError(f"at_once is {self.at_once}; it must be at least 0")


@dataclass(frozen=True)
class Ended:
    """How a trial ended.

    Attributes:
        seconds: duration of its work; None if it failed.
        error: one line; empty if it did not fail.
        trace: Ray's full description of the error.
    """

    seconds: float | None = None
    error: str = ""
    trace: str = ""


def run_each(
    names: Sequence[str], work: Callable[[str, torch.device], None], share: Share, ended: Callable[[str], None]
) -> dict[str, Ended]:
    """Do the work for every name on the connected cluster; a trial that fails does not stop the others.

    Args:
        work: called with a name and a device in the trial's process; must be picklable: a module's function or a
            `partial` of one.
        ended: called in this process after each trial, failed or not.

    Raises:
        InputError: if the cluster is too small for a trial; raised before any trial starts.
    """
    resources = {"CPU": share.cpus, "GPU": int(gpus.of_each(1, share.gpus))}
    available = ray.cluster_resources()
    for kind, requested in resources.items():
        if requested > available.get(kind, 0) and not grows():
            raise InputError(
                f"a trial asks for {requested} {kind}, this cluster has {available.get(kind, 0):.0f}; ask for less"
            )
    at_once = share.at_once or (len(names) if grows() else max(int(num_workers() / share.cpus), 1))
    # Ray would give the process of a trial to the next one; `max_calls` ends it.
    trial: Any = ray.remote(
        num_cpus=share.cpus, num_gpus=resources["GPU"], max_calls=1, max_retries=share.max_failures
    )(_trial)
    waiting, running, results = deque(names), dict[Any, str](), dict[str, Ended]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.popleft()
                running[trial.remote(work, name, share.num_threads)] = name
            (done,), _ = ray.wait([*running])
            name = running.pop(done)
            try:
                results[name] = Ended(seconds=ray.get(done))
            except RayError as error:
                cause = error.cause if isinstance(error, RayTaskError) else error
                results[name] = Ended(error=f"{type(cause).__name__}: {cause}".partition("\n")[0], trace=str(error))
            ended(name)
    finally:
        for reference in running:  # this process was interrupted
            ray.cancel(reference, force=True)
    return results


def _trial(work: Callable[[str, torch.device], None], name: str, threads: int) -> float:
    torch.set_num_threads(threads)
    started = time.monotonic()
    work(name, gpus.assigned_device())
    return time.monotonic() - started
