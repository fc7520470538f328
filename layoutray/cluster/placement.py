"""Number and resources of the model replicas of a bulk job."""

from dataclasses import dataclass
from typing import Any

from ray.data import ActorPoolStrategy

_CPUS = 0.5
"""CPUs of a replica. Half a CPU leaves room on a small machine for the tasks that read its input."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Replicas of a model.

    Attributes:
        gpus: GPUs of each replica.
    """

    count: int = 1
    gpus: float = 0

    def placement(self) -> dict[str, Any]:
        """Arguments of Ray Data's `map_batches`."""
        return {"num_cpus": _CPUS, "num_gpus": self.gpus or None, "compute": ActorPoolStrategy(size=self.count)}


ONE_REPLICA = Replicas()
