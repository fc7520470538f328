"""The replicas of a model that share a bulk job, and where they run."""

from dataclasses import dataclass
from typing import Any

from ray.data import ActorPoolStrategy

_CPUS = 0.5
"""Of each: half, so that the tasks that read for it have room beside it on a small machine."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Attributes:
    gpus: of each.
    """

    count: int = 1
    gpus: float = 0

    def placement(self) -> dict[str, Any]:
        """Arguments of Ray Data's `map_batches`."""
        return {"num_cpus": _CPUS, "num_gpus": self.gpus or None, "compute": ActorPoolStrategy(size=self.count)}


ONE_REPLICA = Replicas()
