"""Relative attention biases: terms of attention scores that depend on distances in the text and on the page.

As in the authors' release of LAMBERT (arXiv:2002.08087, later versions), which uses the buckets of T5
(arXiv:1910.10683).
"""

import math

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

BUCKETS = 32
_FARTHEST_IN_TEXT = 128
_FARTHEST_ON_PAGE = 64
_STEPS = 100
"""Distances on the page are counted in hundredths of its longer side."""
BIAS_SCALE = 30.0
"""Factor of the tables of `scaled` biases, for short trainings: at a learning rate of 3e-4, 300 steps of Adam move a
weight by at most 0.05, and a bias has to be about 1 to matter."""


def relative_buckets(distance: Int[Tensor, "*any"], farthest: int, buckets: int = BUCKETS) -> Int[Tensor, "*any"]:
    """T5's bucket of each distance (key minus query): the first half for distances ≤ 0, the second for distances > 0.

    On each side, half of the buckets hold one distance each, and the widths of the others grow geometrically; the last
    bucket starts near `farthest`.
    """
    half = buckets // 2
    exact = half // 2
    size = distance.abs()
    grown = torch.log(size.clamp(min=1) / exact) / math.log(farthest / exact) * (half - exact)
    wide = (exact + grown.long()).clamp(max=half - 1)
    return torch.where(size < exact, size, wide) + half * (distance > 0)


class RelativeBias(nn.Module):
    """The sum of three biases. Encoders set the tables to zero, which leaves a trained encoder unchanged at first.

    Args:
        scale: factor of the tables. A step of Adam changes each number of a table by about the learning rate, so the
            factor is how much faster the biases grow than other weights.
    """

    def __init__(self, heads: int, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale
        self.sequential = nn.Embedding(BUCKETS, heads)
        self.horizontal = nn.Embedding(BUCKETS, heads)
        self.vertical = nn.Embedding(BUCKETS, heads)

    def forward(self, boxes: Float[Tensor, "batch length 4"]) -> Float[Tensor, "batch heads length length"]:
        """The bias of each query (rows) and key (columns); boxes are in units of the page's longer side."""
        sequential, horizontal, vertical = buckets(boxes)
        summed = self.sequential(sequential) + self.horizontal(horizontal) + self.vertical(vertical)
        return self.scale * summed.permute(0, 3, 1, 2)


def buckets(
    boxes: Float[Tensor, "batch length 4"],
) -> tuple[Int[Tensor, "1 length length"], Int[Tensor, "batch length length"], Int[Tensor, "batch length length"]]:
    """The buckets of three distances: in tokens, between left edges, and between vertical centres."""
    left, top, _, bottom = boxes.unbind(-1)
    positions = torch.arange(boxes.shape[1], device=boxes.device)
    return (
        relative_buckets(pairwise_differences(positions.unsqueeze(0)), _FARTHEST_IN_TEXT),
        relative_buckets((pairwise_differences(left) * _STEPS).long(), _FARTHEST_ON_PAGE),
        relative_buckets((pairwise_differences((top + bottom) / 2) * _STEPS).long(), _FARTHEST_ON_PAGE),
    )


def pairwise_differences(values: Shaped[Tensor, "*rows length"]) -> Shaped[Tensor, "*rows length length"]:
    """Key (columns) minus query (rows)."""
    return values.unsqueeze(-2) - values.unsqueeze(-1)
