"""Relative attention biases: what is added to an attention score for how far the key lies from the query, along the text and on the page.

As in the authors' release of LAMBERT (arXiv:2002.08087, later versions), which takes the buckets of T5 (arXiv:1910.10683).
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

BUCKETS = 32
_FARTHEST_IN_TEXT = 128
_FARTHEST_ON_PAGE = 64
_STEPS = 100
"""In which distances on the page are counted: hundredths of its longer side."""


def relative_buckets(distance: Int[Tensor, "*any"], farthest: int) -> Int[Tensor, "*any"]:
    """T5's bucket of each distance (key less query): 0 to 15 up to 0, 16 to 31 above.

    On either side the first 8 buckets hold one distance each, the others grow geometrically; the last begins near `farthest`.
    """
    half = BUCKETS // 2
    exact = half // 2
    size = distance.abs()
    grown = torch.log(size.clamp(min=1) / exact) / math.log(farthest / exact) * (half - exact)
    wide = (exact + grown.long()).clamp(max=half - 1)
    return torch.where(size < exact, size, wide) + half * (distance > 0)


class RelativeBias(nn.Module):
    """The sum of three biases, of tables that begin at zero: a trained encoder that is given them starts as it was."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sequential = nn.Embedding(BUCKETS, heads)
        self.horizontal = nn.Embedding(BUCKETS, heads)
        self.vertical = nn.Embedding(BUCKETS, heads)

    @torch.no_grad()
    def reset(self) -> None:
        """Put all tables to zero."""
        for table in (self.sequential, self.horizontal, self.vertical):
            table.weight.zero_()

    def forward(self, boxes: Float[Tensor, "batch length 4"]) -> Float[Tensor, "batch heads length length"]:
        """For each query (the rows) and key; boxes are in units of the longer side of the page."""
        sequential, horizontal, vertical = buckets(boxes)
        return (self.sequential(sequential) + self.horizontal(horizontal) + self.vertical(vertical)).permute(0, 3, 1, 2)


def buckets(
    boxes: Float[Tensor, "batch length 4"],
) -> tuple[Int[Tensor, "1 length length"], Int[Tensor, "batch length length"], Int[Tensor, "batch length length"]]:
    """Of distances in tokens, from left edge to left edge, and from middle to middle of heights."""
    left, top, _, bottom = boxes.unbind(-1)
    places = torch.arange(boxes.shape[1], device=boxes.device)
    return (
        relative_buckets(_apart(places.unsqueeze(0)), _FARTHEST_IN_TEXT),
        relative_buckets((_apart(left) * _STEPS).long(), _FARTHEST_ON_PAGE),
        relative_buckets((_apart((top + bottom) / 2) * _STEPS).long(), _FARTHEST_ON_PAGE),
    )


def _apart(places: Tensor) -> Tensor:
    """Key less query."""
    return places.unsqueeze(-2) - places.unsqueeze(-1)
