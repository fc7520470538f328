"""Attention within a sliding window, after Longformer (arXiv:2004.05150) and ETC (arXiv:2004.08483): time and memory linear in length.

A window reaches `reach` tokens to either side, so a query sees at most 2·reach + 1 keys. Lengths are cut into blocks of
`reach` queries; the keys that any query of a block can see are the block itself and its two neighbours. Products therefore are
plain matrix products of (reach, size) by (size, 3·reach), and what lies outside the band is masked: half as many more
multiplications than the band needs, and no copy of a key per query. No tensor has an axis of length × length.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Shaped
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

    Returns:
        For each query, probabilities over the keys of its block and of the two beside it; see `dense` for where they stand. The last
        block is filled up with padding.
    """
    scores = (
        in_blocks(query, reach) @ with_neighbours(in_blocks(key, reach)).transpose(-1, -2) / math.sqrt(query.shape[-1])
    )
    scores = scores.masked_fill(~seen_in_band(mask, reach), torch.finfo(scores.dtype).min)
    real = in_blocks(mask[:, None, :, None], reach)
    return scores.softmax(-1).to(query.dtype) * real.to(query.dtype)


def banded_context(
    probabilities: Float[Tensor, "batch heads blocks reach three_reach"],
    value: Float[Tensor, "batch heads length size"],
) -> Float[Tensor, "batch heads length size"]:
    """Sums of values under the probabilities of `banded_probabilities`."""
    context = probabilities @ with_neighbours(in_blocks(value, probabilities.shape[-2]))
    return in_a_row(context, value.shape[-2])


def dense(
    probabilities: Float[Tensor, "batch heads blocks reach three_reach"],
) -> Float[Tensor, "batch heads length length"]:
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


def in_blocks(
    states: Shaped[Tensor, "batch heads length *size"], reach: int
) -> Shaped[Tensor, "batch heads blocks reach *size"]:
    """The length cut into blocks, the last of which is filled up with zeros."""
    if missing := -states.shape[2] % reach:
        states = functional.pad(states, (0, 0) * (states.ndim - 3) + (0, missing))
    return rearrange(states, "batch heads (blocks reach) ... -> batch heads blocks reach ...", reach=reach)


def in_a_row(
    blocks: Float[Tensor, "batch heads blocks reach size"], length: int
) -> Float[Tensor, "batch heads length size"]:
    """What `in_blocks` made blocks of, without what it filled up."""
    return rearrange(blocks, "batch heads blocks reach size -> batch heads (blocks reach) size")[:, :, :length]


def with_neighbours(
    blocks: Shaped[Tensor, "batch heads blocks reach *size"],
) -> Shaped[Tensor, "batch heads blocks three_reach *size"]:
    """Each block between its two neighbours, zeros beyond the ends."""
    padded = functional.pad(blocks, (0, 0) * (blocks.ndim - 3) + (1, 1))
    return torch.cat([padded[:, :, :-2], padded[:, :, 1:-1], padded[:, :, 2:]], dim=3)


def seen_in_band(mask: Bool[Tensor, "batch length"], reach: int) -> Bool[Tensor, "batch 1 blocks reach three_reach"]:
    """Which of the 3·reach keys of its block are real and within `reach` of each query; the query itself is key `reach` + its number."""
    query = torch.arange(reach, device=mask.device)[:, None] + reach
    key = torch.arange(3 * reach, device=mask.device)
    return with_neighbours(in_blocks(mask[:, None], reach))[..., None, :] & ((key - query).abs() <= reach)
