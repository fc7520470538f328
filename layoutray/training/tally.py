"""Losses, gradients and work of the steps since the last report. They stay on the device: reading waits for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from layoutray.training.flops import Work
from layoutray.training.world import World


class Steps(NamedTuple):
    """Some training steps.

    Attributes:
        losses: mean loss of each step's targets.
        norms: norm of each step's gradient, before clipping.
        work: of all steps and all workers.
    """

    losses: Sequence[float]
    norms: Sequence[float]
    work: Work


@dataclass
class Tally:
    """Collects the steps of one worker."""

    world: World
    _rows: list[Float[Tensor, "5"]] = field(default_factory=list["Float[Tensor, '5']"])

    def add(self, loss: Float[Tensor, ""], norm: Float[Tensor, ""], work: Float[Tensor, "3"]) -> None:
        """Add a step: the summed loss of this worker's targets, the gradient's norm and the `Work` of all workers."""
        self._rows.append(torch.cat([torch.stack([loss, norm]).double(), work]))

    def take(self) -> Steps:
        """The steps since the last call, of which there is at least one. Waits for the device and for all workers."""
        own, norms, *work = torch.stack(self._rows).T.tolist()
        self._rows.clear()
        # All workers have the same norms; their mean is the same on all of them even if one has computed another.
        summed = self.world.sum(*own, *norms)
        losses = [loss / max(targets, 1.0) for loss, targets in zip(summed[: len(own)], work[1], strict=True)]
        return Steps(losses, [norm / self.world.size for norm in summed[len(own) :]], Work(*map(sum, work)))
