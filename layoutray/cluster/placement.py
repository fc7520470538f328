"""Number and resources of the processes that hold a model."""

from dataclasses import dataclass
from typing import Any

from ray.data import ActorPoolStrategy

from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus
from layoutray.errors import InputError

_CPUS = 0.5
"""CPUs of a replica. Half a CPU leaves room on a small machine for the tasks that read its input."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Replicas of a model.

    Attributes:
        gpus: GPUs of each replica; None is one if the cluster has one for each replica, else 0.
        fetch: gives the folder of the model's checkpoint in the process that reads it.
    """

    count: int = 1
    gpus: float | None = None
    fetch: Fetch = str

    def placement(self) -> dict[str, Any]:
        """Arguments of Ray Data's `map_batches` on the connected cluster."""
        num_gpus = gpus.of_each(self.count, self.gpus)
        return {"num_cpus": _CPUS, "num_gpus": num_gpus or None, "compute": ActorPoolStrategy(size=self.count)}


ONE_REPLICA = Replicas()


@dataclass(frozen=True, kw_only=True)
class TrainingResources:
    """What each worker of a training, or each trial of a sweep, may use.

    Attributes:
        cpus: in Ray's logical CPUs; a fraction leaves room for Ray's own tasks on a small machine.
        gpus: number of GPUs; None is one if the cluster has one for each worker, else 0.
        threads: threads of PyTorch; None is one for each whole CPU, at least one.
        max_failures: losses of a process to recover from before the training fails.
    """

    cpus: float = 0.5
    gpus: int | None = None
    threads: int | None = None
    max_failures: int = 3

    def __post_init__(self) -> None:
        if not self.cpus > 0:
            raise InputError(f"cpus is {self.cpus}; it must be above 0")
        for name, value, least in (
            ("gpus", self.gpus, 0),
            ("threads", self.threads, 1),
            ("max_failures", self.max_failures, 0),
        ):
            if value is not None and value < least:
                raise InputError(f"{name} is {value}; it must be at least {least}")

    @property
    def num_threads(self) -> int:
        return self.threads or max(int(self.cpus), 1)
