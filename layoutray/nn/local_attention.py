"""Attention within a sliding window, after Longformer (arXiv:2004.05150) and ETC (arXiv:2004.08483): time and memory linear in length.

A window reaches `reach` tokens to either side, so a query sees at most 2·reach + 1 keys. Lengths are cut into blocks of
`reach` queries; the keys that any query of a block can see are the block itself and its two neighbours. Products therefore are
plain matrix products of (reach, size) by (size, 3·reach), and what lies outside the band is masked: half as many more
multiplications than the band needs, and no copy of a key per query. No tensor has an axis of length × length.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import split_heads


def banded_probabilities(
    query: Float[Tensor, "batch heads length size"],
    key: Float[Tensor, "batch heads length size"],
    mask: Bool[Tensor, "batch length"],
    reach: int,
) -> Float[Tensor, "batch heads blocks reach three_reach"]:
    """softmax(QKᵀ/√size) over the real keys within `reach` of each query; exactly 0 on all others, and for queries of padding.

    Args:
        mask: True on real tokens.
        reach: divides the length.

    Returns:
        For each query, probabilities over the keys of its block and of the two beside it; see `dense` for where they stand.
    """
    scores = _blocks(query, reach) @ _with_neighbours(_blocks(key, reach)).transpose(-1, -2) / math.sqrt(query.shape[-1])
    real = rearrange(mask, "batch (blocks reach) -> batch 1 blocks reach 1", reach=reach)
    seen = _with_neighbours(real).transpose(-1, -2) & _band(reach, query.device)
    scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).to(query.dtype) * real.to(query.dtype)


def banded_context(
    probabilities: Float[Tensor, "batch heads blocks reach three_reach"], value: Float[Tensor, "batch heads length size"]
) -> Float[Tensor, "batch heads length size"]:
    """Sums of values under the probabilities of `banded_probabilities`."""
    context = probabilities @ _with_neighbours(_blocks(value, probabilities.shape[-2]))
    return rearrange(context, "batch heads blocks reach size -> batch heads (blocks reach) size")


def dense(probabilities: Float[Tensor, "batch heads blocks reach three_reach"]) -> Float[Tensor, "batch heads length length"]:
    """The same probabilities as one matrix, for pictures and tests: this does need length × length."""
    batch, heads, blocks, reach, _ = probabilities.shape
    spread = probabilities.new_zeros(batch, heads, blocks, reach, (blocks + 2) * reach)
    for block in range(blocks):
        spread[:, :, block, :, block * reach : (block + 3) * reach] = probabilities[:, :, block]
    return rearrange(spread, "batch heads blocks reach keys -> batch heads (blocks reach) keys")[..., reach:-reach]


class LocalSelfAttention(nn.Module):
    """Multi-head self-attention within a sliding window, with its output projection, without residual and norm."""

    def __init__(self, width: int, heads: int, reach: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.reach = reach
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        query, key, value = (split_heads(project(states), self.heads) for project in (self.query, self.key, self.value))
        context = banded_context(self.dropout(banded_probabilities(query, key, mask, self.reach)), value)
        return self.output(rearrange(context, "batch heads length size -> batch length (heads size)"))


def _blocks(states: Tensor, reach: int) -> Tensor:
    return rearrange(states, "batch heads (blocks reach) size -> batch heads blocks reach size", reach=reach)


def _with_neighbours(blocks: Tensor) -> Tensor:
    """(batch, heads, blocks, reach, size) to (…, 3·reach, size): each block between its two neighbours, zeros beyond the ends."""
    padded = functional.pad(blocks, (0, 0, 0, 0, 1, 1))
    return torch.cat([padded[:, :, :-2], padded[:, :, 1:-1], padded[:, :, 2:]], dim=-2)


def _band(reach: int, device: torch.device) -> Bool[Tensor, "reach three_reach"]:
    """Which of the 3·reach keys lie within `reach` of each query of a block; the query itself is key `reach` + its number."""
    query = torch.arange(reach, device=device)[:, None] + reach
    key = torch.arange(3 * reach, device=device)
    return (key - query).abs() <= reach
