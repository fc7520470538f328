"""Scaled dot-product attention.

Masks are boolean, True on keys that may be attended to, and of shape (batch, keys) unless a docstring says otherwise.
Where a bias is added to the scores, `mask_keys` puts the mask into the bias.
"""

import math
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.dropout import FastDropout
from layoutray.nn.gathered_attention import KeyLists, gathered_context
from layoutray.nn.relative_keys import RelativeKeys
from layoutray.tensors import Places


class PackedMask(NamedTuple):
    """The mask of windows in one row: a token sees all tokens of its window.

    Attributes:
        queries: places of the tokens that attend.
        keys: places of the tokens that are attended to.
    """

    queries: Places
    keys: Places


AttentionMask = (
    Bool[Tensor, "batch length"]
    | Bool[Tensor, "batch heads length length"]
    | Float[Tensor, "batch heads length length"]
    | KeyLists
    | RelativeKeys
    | PackedMask
)
"""Which keys are visible: a mask for all queries; a mask or list of keys per query and head; a bias of scores; a mask
with vectors that are added to the keys; or the keys of the same window."""

_MASKED_SCORE = -1e9
"""Score of a masked key, which gets weight 0. Finite in every type: a query without visible keys gets no NaN."""


def mask_keys(
    bias: Float[Tensor, "batch heads length length"], mask: Bool[Tensor, "batch length"]
) -> Float[Tensor, "batch heads length length"]:
    """A bias of attention scores in which the keys that `mask` hides get weight 0."""
    return bias.masked_fill(~mask[:, None, None, :], _MASKED_SCORE)


def attention_probabilities(
    query: Float[Tensor, "batch heads queries size"],
    key: Float[Tensor, "batch heads keys size"],
    mask: Bool[Tensor, "batch keys"] | None,
) -> Float[Tensor, "batch heads queries keys"]:
    """softmax(QKᵀ/√size) over the keys where `mask` is True (all without a mask); exactly 0 on all others.

    A row without visible keys gets equal probabilities, not NaN.
    """
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
    # Autocast computes the softmax in float32; the result is kept for later layers in the queries' type.
    return scores.softmax(-1).to(query.dtype)


class KeysAndValues(NamedTuple):
    """Projected states to attend to; a decoder caches them from one generation step to the next."""

    key: Float[Tensor, "batch heads keys size"]
    value: Float[Tensor, "batch heads keys size"]


class MultiHeadAttention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", 2017) with output projection, without residual and norm."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = nn.Dropout(dropout)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def keys_and_values(self, states: Float[Tensor, "batch keys width"]) -> KeysAndValues:
        """Keys and values of `states`."""
        return KeysAndValues(split_heads(self.key(states), self.heads), split_heads(self.value(states), self.heads))

    def attend(
        self,
        states: Float[Tensor, "batch queries width"],
        memory: KeysAndValues,
        mask: Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"] | PackedMask,
    ) -> Float[Tensor, "batch queries width"]:
        """The update of `states` by attention to `memory`; `mask` is True on visible keys, or a bias of scores."""
        query = split_heads(self.query(states), self.heads)
        if isinstance(mask, PackedMask):
            return self.join_heads(_packed_context(query, memory, mask, self.dropout))
        return self.join_heads(_context(query, memory, mask, self.dropout))

    def join_heads(self, context: Float[Tensor, "batch heads queries size"]) -> Float[Tensor, "batch queries width"]:
        """The output projection of the concatenated heads; `context` holds each head's weighted sum of values."""
        return self.output(rearrange(context, "batch heads queries size -> batch queries (heads size)"))


class SelfAttention(MultiHeadAttention):
    """Multi-head attention of the tokens of a sequence to each other."""

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: AttentionMask
    ) -> Float[Tensor, "batch length width"]:
        memory = self.keys_and_values(states)
        if isinstance(mask, KeyLists):
            query = split_heads(self.query(states), self.heads)
            return self.join_heads(gathered_context(query, *memory, mask, _current(self.dropout)))
        if isinstance(mask, RelativeKeys):
            query = split_heads(self.query(states), self.heads)
            return self.join_heads(_context(query, memory, mask_keys(mask.scores(query), mask.mask), self.dropout))
        if isinstance(mask, PackedMask) or mask.ndim > 2:
            return self.attend(states, memory, mask)
        return self.attend(states, memory, mask[:, None, None, :])


def split_heads(
    states: Float[Tensor, "batch length all_heads"], heads: int
) -> Float[Tensor, "batch heads length size"]:
    """The last axis split into `heads` equal parts; the head axis comes before the length."""
    return rearrange(states, "batch length (heads size) -> batch heads length size", heads=heads)


def by_window(
    states: Float[Tensor, "1 heads tokens size"], places: Places
) -> tuple[Float[Tensor, "1 heads _ size"], ...]:
    """The tokens of each window."""
    return states.split(places.lengths, dim=2)


def in_windows(
    states: Float[Tensor, "1 heads tokens size"], places: Places
) -> Float[Tensor, "batch heads length size"]:
    """The tokens in padded windows."""
    return places.unpack(states.transpose(1, 2)).transpose(1, 2)


def in_one_row(
    states: Float[Tensor, "batch heads length size"], places: Places
) -> Float[Tensor, "1 heads tokens size"]:
    """The tokens of padded windows in one row."""
    return places.pack(states.transpose(1, 2)).transpose(1, 2)


def _packed_context(
    query: Float[Tensor, "1 heads queries size"], memory: KeysAndValues, mask: PackedMask, dropout: nn.Dropout
) -> Float[Tensor, "1 heads queries size"]:
    """The weighted sums of values of windows in one row.

    A CPU computes window by window. A GPU, which is slow at many small products, pads the windows meanwhile.
    """
    if query.is_cuda:
        padded = KeysAndValues(*(in_windows(part, mask.keys) for part in memory))
        context = _context(in_windows(query, mask.queries), padded, mask.keys.mask()[:, None, None, :], dropout)
        return in_one_row(context, mask.queries)
    windows = zip(by_window(query, mask.queries), *(by_window(part, mask.keys) for part in memory), strict=True)
    return torch.cat([_context(query, KeysAndValues(*memory), None, dropout) for query, *memory in windows], dim=2)


def _context(
    query: Float[Tensor, "batch heads queries size"], memory: KeysAndValues, mask: Tensor | None, dropout: nn.Dropout
) -> Float[Tensor, "batch heads queries size"]:
    """The weighted sums of values; `mask` is True on visible keys, or a bias of scores."""
    if query.is_cuda or not (isinstance(dropout, FastDropout) and _current(dropout)):
        return functional.scaled_dot_product_attention(query, *memory, attn_mask=mask, dropout_p=_current(dropout))
    scores = (query / math.sqrt(query.shape[-1])) @ memory.key.transpose(-1, -2)
    if mask is not None:
        scores = scores + (torch.where(mask, 0.0, _MASKED_SCORE) if mask.dtype == torch.bool else mask)
    return dropout(scores.softmax(-1)) @ memory.value


def _current(dropout: nn.Dropout) -> float:
    """The probability with which `dropout` drops now."""
    return dropout.p if dropout.training else 0.0
