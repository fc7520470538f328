"""LAMBERT's layout embedding ℓ: sines and cosines of the coordinates of a box (arXiv:2002.08087, first version).

For a coordinate t, F(t) consists of cos(θ_r t) and sin(θ_r t) with factors θ_r in geometric progression: the period of
the slowest pair is several pages, that of the fastest one eightieth of a page. ℓ = [F(x0) | F(y0) | F(x1) | F(y1)].
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

_LARGEST = 500.0
_SMALLEST = {"paper": 0.25, "released": 1.0}

Winding = Literal["paper", "released"]
"""`paper`: factors start at 0.25, and cosine and sine alternate. `released`, as in the authors' later code: factors
start at 1, and all sines of a coordinate come before its cosines."""


def page_scaled(
    shares: Float[Tensor, "batch length 4"], page_sizes: Int[Tensor, "batch 2"] | Float[Tensor, "batch 2"]
) -> Float[Tensor, "batch length 4"]:
    """Boxes in units of the page's longer side, from its upper left corner; this keeps the aspect ratio.

    Args:
        shares: x0 y0 x1 y1 as shares of the page's width and height.
        page_sizes: width and height, in any unit.
    """
    sides = page_sizes.to(shares.dtype)
    return shares * (sides / sides.amax(-1, keepdim=True)).repeat(1, 2).unsqueeze(1)


def factors(count: int, winding: Winding) -> Float[Tensor, " count"]:
    """θ: `count` factors in geometric progression up to 500, in float64."""
    found = torch.empty(count, dtype=torch.float64)
    if found.is_meta:  # calculations without values import PyTorch's compiler, which takes 1.5 s
        return found
    exponents = torch.linspace(0, 1, count, dtype=torch.float64)
    return _SMALLEST[winding] * (_LARGEST / _SMALLEST[winding]) ** exponents


class WindingEmbedding(nn.Module):
    """ℓ, without trainable parameters; `width` is divisible by eight: each coordinate has width / 8 factors."""

    factors: Tensor

    def __init__(self, width: int, winding: Winding) -> None:
        super().__init__()
        self.width = width
        self.winding: Winding = winding
        self.register_buffer("factors", factors(width // 8, winding), persistent=False)

    def forward(self, boxes: Float[Tensor, "batch length 4"]) -> Float[Tensor, "batch length width"]:
        """ℓ of boxes in units of the page's longer side, in the type of the boxes."""
        angles = boxes.unsqueeze(-1) * self.factors.to(boxes.dtype)
        if self.winding == "paper":
            return torch.stack([angles.cos(), angles.sin()], -1).flatten(2)
        return torch.cat([angles.sin(), angles.cos()], -1).flatten(2)
