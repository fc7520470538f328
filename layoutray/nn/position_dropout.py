"""D_q of LAMBERT (arXiv:2002.08087, first version): dropout of positions with a rate that grows during training."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def linear_schedule(progress: float) -> float:
    """q at a share of training: it grows linearly from 0 to 1 over the first half and stays 1."""
    return min(2 * progress, 1.0)


class PositionDropout(nn.Module):
    """Drops whole position vectors p with probability q without rescaling; evaluation uses the mean, (1 − q) p.

    q is saved with the weights and never decreases: further training does not restore dropped positions.
    """

    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("share", torch.zeros(()))

    def increase_to(self, share: float) -> None:
        """Set q to `share`, unless q is higher already."""
        self.share.clamp_(min=share)

    def forward(self, positions: Float[Tensor, "length width"], batch: int) -> Float[Tensor, "batch length width"]:
        """The positions of `batch` windows, dropped independently in each window."""
        if not self.training:
            return ((1 - self.share) * positions).expand(batch, -1, -1)
        kept = torch.rand(batch, len(positions), 1, device=positions.device) >= self.share
        return kept * positions
