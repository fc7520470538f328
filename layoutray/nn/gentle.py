"""New parts that hardly disturb the trained encoder that they are added to."""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

GENTLE = 0.01
"""Initial scale of what a new part adds. Not 0: the weights behind a zero get no gradient."""


@torch.no_grad()
def scale_down(tables: Iterable[nn.Embedding]) -> None:
    """Multiply the drawn weights of `tables` by `GENTLE`."""
    for table in tables:
        table.weight.mul_(GENTLE)


class GentleAdapter(nn.Linear):
    """W ℓ / √n + b for a layout embedding ℓ of n numbers, with a W and a b that start at zero after `reset`.

    All n numbers of ℓ can push in one direction. Without the division, a step of Adam moves W ℓ up to n times as far as
    it moves a text embedding.
    """

    @torch.no_grad()
    def reset(self) -> None:
        """Set W and b to zero."""
        self.weight.zero_()
        self.bias.zero_()

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  (nn.Linear's name)
        return super().forward(input / math.sqrt(self.in_features))


class GentleUpdate(nn.Module):
    """x + Dropout(W u + b), with a W that starts small and a b that starts at zero; there is no LayerNorm."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.adapter = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    @torch.no_grad()
    def reset(self) -> None:
        """Scale the drawn W down, and set b to zero."""
        self.adapter.weight.mul_(GENTLE)
        self.adapter.bias.zero_()

    def forward(
        self, states: Float[Tensor, "batch length width"], update: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
        return states + self.dropout(self.adapter(update))
