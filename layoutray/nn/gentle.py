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


@torch.no_grad()
def set_to_zero(part: nn.Module) -> None:
    """Set all parameters of `part` to zero."""
    for parameter in part.parameters():
        parameter.zero_()


@torch.no_grad()
def start_small(adapter: nn.Linear) -> None:
    """Scale the drawn weights down, to zero if `adapter` is a `GentleAdapter`, and set the bias to zero."""
    adapter.weight.mul_(0 if isinstance(adapter, GentleAdapter) else GENTLE)
    adapter.bias.zero_()


class GentleAdapter(nn.Linear):
    """W ℓ / √n + b for a layout embedding ℓ of n numbers, with a W and a b that start at zero (`set_to_zero`).

    All n numbers of ℓ can push in one direction. Without the division, a step of Adam moves W ℓ up to n times as far as
    it moves a text embedding.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  (nn.Linear's name)
        return super().forward(input / math.sqrt(self.in_features))


class GentleUpdate(nn.Module):
    """x + Dropout(W u + b), with a W and a b that `start_small`; there is no LayerNorm."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.adapter = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Float[Tensor, "batch length width"], update: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
        return states + self.dropout(self.adapter(update))
