"""Losses and work of the steps since the last report. They stay on the device, as reading them waits for it."""

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
        work: of all steps and all workers.
    """

    losses: Sequence[float]
    work: Work


@dataclass
class Tally:
    """Collects the steps of one worker."""

    world: World
    _rows: list[Float[Tensor, "4"]] = field(default_factory=list["Float[Tensor, '4']"])

    def add(self, loss: Float[Tensor, ""], work: Float[Tensor, "3"]) -> None:
        """Add a step, with the summed loss of this worker's targets and the `Work` of all workers."""
        self._rows.append(torch.cat([loss.double()[None], work]))

    def take(self) -> Steps:
        """The steps since the last call, of which there is at least one. Waits for the device and for all workers."""
        own, *work = torch.stack(self._rows).T.tolist()
        self._rows.clear()
        losses = [loss / max(targets, 1.0) for loss, targets in zip(self.world.sum(*own), work[1], strict=True)]
        return Steps(losses, Work(*map(sum, work)))
