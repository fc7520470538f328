"""ETC's attention among long tokens and one global token (arXiv:2004.08483), optionally with Rich Attention."""

import math

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask

from layoutray.nn.attention import split_heads
from layoutray.nn.global_local_context import AttentionInputs, banded_context
from layoutray.nn.global_local_fused import block_mask, fused_context
from layoutray.nn.rich_attention import RichAttention


class GlobalLocalAttention(nn.Module):
    """Maps states to contexts without output projection, of which ETC has one for the global and one for long tokens.

    Args:
        clip: largest distance in tokens with its own relative position; 0 means no relative positions.
        rich: the parameters of Rich Attention; None without it.
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
        # One vector per distance −clip … clip, and one for the global key.
        self.relative = nn.Embedding(2 * clip + 2, width) if clip else None
        self.rich = rich

    def forward(
        self,
        states: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "batch length"],
        places: Float[Tensor, "batch length axes"],
        tiles: BlockMask | None,
    ) -> Float[Tensor, "batch tokens width"]:
        """The contexts; `tiles` is what `tiles` of any such attention of the model returns for `mask`."""
        inputs = self.attention_inputs(states, mask, places)
        value = split_heads(self.value(states), self.heads)
        if tiles is not None:
            context = fused_context(inputs, value, tiles)
        else:
            context = banded_context(inputs, value, self._current_dropout)
        return rearrange(context, "batch heads length size -> batch length (heads size)")

    def tiles(self, mask: Bool[Tensor, "batch length"]) -> BlockMask | None:
        """The tiles that the fused kernel visits; None where it is not used: on a CPU, or with attention dropout."""
        return block_mask(mask, self.reach) if mask.is_cuda and not self._current_dropout else None

    @property
    def _current_dropout(self) -> float:
        return self.dropout if self.training else 0.0

    def attention_inputs(
        self,
        states: Float[Tensor, "batch tokens width"],
        mask: Bool[Tensor, "batch length"],
        places: Float[Tensor, "batch length axes"],
    ) -> AttentionInputs:
        """The inputs of the attention; any of the three computations of `global_local_context` takes them."""
        query, key = split_heads(self.query(states), self.heads), split_heads(self.key(states), self.heads)
        scaled = query / math.sqrt(query.shape[-1])
        relative = None
        if self.relative is not None:
            table = rearrange(self.relative.weight, "relations (heads size) -> heads size relations", heads=self.heads)
            relative = scaled[:, :, 1:] @ table
        rich = self.rich(query[:, :, 1:], key[:, :, 1:], places) if self.rich is not None else ()
        return AttentionInputs(query=scaled, key=key, mask=mask, reach=self.reach, relative=relative, rich=rich)
