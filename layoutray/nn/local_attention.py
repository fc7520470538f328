"""Attention within a sliding window, after Longformer (arXiv:2004.05150) and ETC (arXiv:2004.08483).

Time and memory are linear in length.

A window extends `reach` tokens to either side: a query sees at most 2·reach + 1 keys. Sequences are cut into blocks of
`reach` queries. The queries of a block can only see keys in the block and in the two adjacent blocks. The scores of a
block are one matrix product of (reach, size) by (size, 3·reach), in which keys outside the window are masked. This
takes 1.5 times the multiplications of the window alone, but copies no key per query. No tensor has length × length
elements.
"""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional

from layoutray.nn.attention import MultiHeadAttention, split_heads


def banded_probabilities(
    query: Float[Tensor, "batch heads length size"],
    key: Float[Tensor, "batch heads length size"],
    mask: Bool[Tensor, "batch length"],
    reach: int,
) -> Float[Tensor, "batch heads blocks reach three_reach"]:
    """softmax(QKᵀ/√size) over the real keys within `reach` of each query; exactly 0 elsewhere and in rows of padding.

    Returns:
        For each query, probabilities over the keys of the previous, its own and the next block; `dense_matrix` converts
        them to a matrix. The last block is padded.
    """
    scores = (
        to_blocks(query, reach)
        @ with_adjacent_blocks(to_blocks(key, reach)).transpose(-1, -2)
        / math.sqrt(query.shape[-1])
    )
    scores = scores.masked_fill(~Band(reach).mask(mask), torch.finfo(scores.dtype).min)
    real = to_blocks(mask[:, None, :, None], reach)
    return scores.softmax(-1).to(query.dtype) * real.to(query.dtype)


def banded_context(
    probabilities: Float[Tensor, "batch heads blocks reach three_reach"],
    value: Float[Tensor, "batch heads length size"],
) -> Float[Tensor, "batch heads length size"]:
    """Weighted sums of values; the weights come from `banded_probabilities`."""
    context = probabilities @ with_adjacent_blocks(to_blocks(value, probabilities.shape[-2]))
    return from_blocks(context, value.shape[-2])


def dense_matrix(
    probabilities: Float[Tensor, "batch heads blocks reach three_reach"],
) -> Float[Tensor, "batch heads length length"]:
    """The probabilities as one length × length matrix, for pictures and tests."""
    batch, heads, blocks, reach, _ = probabilities.shape
    spread = probabilities.new_zeros(batch, heads, blocks, reach, (blocks + 2) * reach)
    for block in range(blocks):
        spread[:, :, block, :, block * reach : (block + 3) * reach] = probabilities[:, :, block]
    return rearrange(spread, "batch heads blocks reach keys -> batch heads (blocks reach) keys")[..., reach:-reach]


class LocalSelfAttention(MultiHeadAttention):
    """Multi-head self-attention within a sliding window, with output projection, without residual and norm."""

    def __init__(self, width: int, heads: int, reach: int, dropout: float) -> None:
        super().__init__(width, heads, dropout)
        self.reach = reach

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        query = split_heads(self.query(states), self.heads)
        key, value = self.keys_and_values(states)
        probabilities = self.dropout(banded_probabilities(query, key, mask, self.reach))
        return self.join_heads(banded_context(probabilities, value))


def to_blocks(
    states: Shaped[Tensor, "batch heads length *size"], reach: int
) -> Shaped[Tensor, "batch heads blocks reach *size"]:
    """The states cut into blocks; the last block is padded with zeros."""
    if missing := -states.shape[2] % reach:
        states = functional.pad(states, (0, 0) * (states.ndim - 3) + (0, missing))
    return rearrange(states, "batch heads (blocks reach) ... -> batch heads blocks reach ...", reach=reach)


def from_blocks(
    blocks: Float[Tensor, "batch heads blocks reach size"], length: int
) -> Float[Tensor, "batch heads length size"]:
    """The inverse of `to_blocks`: the blocks joined and cut to `length`."""
    return rearrange(blocks, "batch heads blocks reach size -> batch heads (blocks reach) size")[:, :, :length]


def with_adjacent_blocks(
    blocks: Shaped[Tensor, "batch heads blocks reach *size"],
) -> Shaped[Tensor, "batch heads blocks three_reach *size"]:
    """Each block concatenated with the previous and the next one; zeros beyond the ends."""
    padded = functional.pad(blocks, (0, 0) * (blocks.ndim - 3) + (1, 1))
    return torch.cat([padded[:, :, :-2], padded[:, :, 1:-1], padded[:, :, 2:]], dim=3)


@dataclass(frozen=True)
class Band:
    """How the queries and keys of a sequence are arranged in blocks for attention within `reach`.

    Attributes:
        whole: number of tokens of a sequence that is a single block, whose queries see the keys of the block alone; 0:
            blocks of `reach` queries, which see three blocks of keys.
    """

    reach: int
    whole: int = 0

    @classmethod
    def of(cls, length: int, reach: int) -> "Band":
        """The arrangement with fewer scores: a single block up to a length of 3·reach."""
        return cls(reach, length if length <= 3 * reach else 0)

    @property
    def block(self) -> int:
        """Number of queries of a block."""
        return self.whole or self.reach

    @property
    def before(self) -> int:
        """Number of keys before a block that its queries see."""
        return 0 if self.whole else self.reach

    @property
    def keys(self) -> int:
        """Number of keys of a block."""
        return self.whole or 3 * self.reach

    def query_blocks(
        self, states: Shaped[Tensor, "batch heads length *size"]
    ) -> Shaped[Tensor, "batch heads blocks queries *size"]:
        """The values of each block's queries; the last block is padded with zeros."""
        return to_blocks(states, self.block)

    def key_blocks(
        self, states: Shaped[Tensor, "batch heads length *size"]
    ) -> Shaped[Tensor, "batch heads blocks keys *size"]:
        """The values of each block's keys; zeros beyond the ends."""
        blocks = to_blocks(states, self.block)
        return blocks if self.whole else with_adjacent_blocks(blocks)

    def mask(self, mask: Bool[Tensor, "batch length"]) -> Bool[Tensor, "batch 1 blocks queries keys"]:
        """True on the keys of a block that are real and within `reach` of each query."""
        query = torch.arange(self.block, device=mask.device)[:, None] + self.before
        key = torch.arange(self.keys, device=mask.device)
        return self.key_blocks(mask[:, None])[..., None, :] & ((key - query).abs() <= self.reach)
