"""D_q of LAMBERT (arXiv:2002.08087, first version): sequential positions are dropped more and more, until layout has taken their place."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def linear_share(progress: float) -> float:
    """q after a share of training: from 0 up to 1 over its first half, 1 from there."""
    return min(2 * progress, 1.0)


class PositionDropout(nn.Module):
    """Drops whole position vectors with probability q, without rescaling those that stay; in evaluation their mean, (1 − q) p.

    q is saved with the weights. It only grows: a model whose positions are gone does not get them back by being trained again.
    """

    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("share", torch.zeros(()))

    def raise_to(self, share: float) -> None:
        """Let q be `share`, unless it is higher already."""
        self.share.clamp_(min=share)

    def forward(self, positions: Float[Tensor, "length width"], batch: int) -> Float[Tensor, "batch length width"]:
        """Of `batch` windows, each with its own chances."""
        if not self.training:
            return ((1 - self.share) * positions).expand(batch, -1, -1)
        stays = torch.rand(batch, len(positions), 1, device=positions.device) >= self.share
        return stays * positions
