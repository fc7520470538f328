"""From boxes to vectors without tables: LAMBERT's layout embedding ℓ (arXiv:2002.08087, first version).

A coordinate t winds round circles of many sizes: F(t) has cos(θ_r t) and sin(θ_r t) for factors θ_r in geometric progression, from one
turn over several pages up to eighty turns over one. ℓ = [F(x0) | F(y0) | F(x1) | F(y1)].
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

_LARGEST = 500.0
_SMALLEST = {"paper": 0.25, "released": 1.0}

Winding = Literal["paper", "released"]
"""`paper`: factors from 0.25, cosine and sine of each side by side. `released`: as in the authors' later code, from 1, all sines of a
coordinate before all its cosines."""


def page_scaled(
    shares: Float[Tensor, "batch length 4"], page_sizes: Int[Tensor, "batch 2"] | Float[Tensor, "batch 2"]
) -> Float[Tensor, "batch length 4"]:
    """Boxes in units of their page's longer side: the page's upper left corner is the origin, its aspect ratio is kept.

    Args:
        shares: x0 y0 x1 y1, in shares of the page's width and height.
        page_sizes: width and height, in any unit.
    """
    sides = page_sizes.to(shares.dtype)
    return shares * (sides / sides.amax(-1, keepdim=True)).repeat(1, 2).unsqueeze(1)


def factors(count: int, winding: Winding) -> Float[Tensor, " count"]:
    """θ: `count` factors in geometric progression up to 500, in float64."""
    exponents = torch.linspace(0, 1, count, dtype=torch.float64)
    return _SMALLEST[winding] * (_LARGEST / _SMALLEST[winding]) ** exponents


class WindingEmbedding(nn.Module):
    """ℓ. Nothing in it is trained.

    Args:
        width: of the embedding; eight divides it, which gives each of four coordinates width / 8 factors.
    """

    factors: Tensor

    def __init__(self, width: int, winding: Winding) -> None:
        super().__init__()
        self.width = width
        self.winding: Winding = winding
        self.register_buffer("factors", factors(width // 8, winding), persistent=False)

    def forward(self, boxes: Float[Tensor, "batch length 4"]) -> Float[Tensor, "batch length width"]:
        """Of boxes in units of the longer side of the page; in their type."""
        angles = boxes.unsqueeze(-1) * self.factors.to(boxes.dtype)
        if self.winding == "paper":
            return torch.stack([angles.cos(), angles.sin()], -1).flatten(2)
        return torch.cat([angles.sin(), angles.cos()], -1).flatten(2)
