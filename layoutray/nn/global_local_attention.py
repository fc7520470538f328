"""Multi-head attention among one global token and long ones, after ETC (arXiv:2004.08483), with Rich Attention where it is asked for."""

import math

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from layoutray.nn.attention import split_heads
from layoutray.nn.global_local_context import Attending, banded_context
from layoutray.nn.global_local_fused import fused_context
from layoutray.nn.rich_attention import RichAttention


class GlobalLocalAttention(nn.Module):
    """From states to their contexts, before any output projection: ETC has one for the global token and one for the long ones.

    Args:
        clip: largest distance that has a relative position of its own, in tokens; 0 is without relative positions.
        rich: maps of Rich Attention, or none.
    """

    def __init__(
        self, width: int, heads: int, reach: int, *, clip: int, rich: RichAttention | None, dropout: float
    ) -> None:
        super().__init__()
        self.heads = heads
        self.reach = reach
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        # One more than there are distances: the global key.
        self.relative = nn.Embedding(2 * clip + 2, width) if clip else None
        self.rich = rich

    def forward(
        self,
        states: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "batch length"],
        places: Float[Tensor, "batch length axes"],
    ) -> Float[Tensor, "batch tokens width"]:
        attending = self.attending(states, mask, places)
        value = split_heads(self.value(states), self.heads)
        dropout = self.dropout if self.training else 0.0
        # The fused kernel cannot drop probabilities.
        fused = states.is_cuda and not dropout
        context = fused_context(attending, value) if fused else banded_context(attending, value, dropout)
        return rearrange(context, "batch heads length size -> batch length (heads size)")

    def attending(
        self,
        states: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "batch length"],
        places: Float[Tensor, "batch length axes"],
    ) -> Attending:
        """Who attends to whom, whichever way it is then computed."""
        query, key = split_heads(self.query(states), self.heads), split_heads(self.key(states), self.heads)
        scaled = query / math.sqrt(query.shape[-1])
        relative = None
        if self.relative is not None:
            table = rearrange(self.relative.weight, "relations (heads size) -> heads size relations", heads=self.heads)
            relative = scaled[:, :, 1:] @ table
        rich = self.rich(query[:, :, 1:], key[:, :, 1:], places) if self.rich is not None else ()
        return Attending(scaled, key, mask, self.reach, relative, rich)
