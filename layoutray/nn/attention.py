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

from layoutray.nn.gathered_attention import KeyLists, gathered_context

AttentionMask = (
    Bool[Tensor, "batch length"]
    | Bool[Tensor, "batch heads length length"]
    | Float[Tensor, "batch heads length length"]
    | KeyLists
)
"""Which keys are visible: a mask for all queries; a mask or list of keys per query and head; or a bias of scores."""

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
    mask: Bool[Tensor, "batch keys"],
) -> Float[Tensor, "batch heads queries keys"]:
    """softmax(QKᵀ/√size) over the keys where `mask` is True; exactly 0 on all others.

    A row without visible keys gets equal probabilities, not NaN.
    """
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
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
        self.dropout = dropout
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
        mask: Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"],
    ) -> Float[Tensor, "batch queries width"]:
        """The update of `states` by attention to `memory`; `mask` is True on visible keys, or a bias of scores."""
        context = functional.scaled_dot_product_attention(
            split_heads(self.query(states), self.heads), *memory, attn_mask=mask, dropout_p=self._current_dropout
        )
        return self.join_heads(context)

    def join_heads(self, context: Float[Tensor, "batch heads queries size"]) -> Float[Tensor, "batch queries width"]:
        """The output projection of the concatenated heads; `context` holds each head's weighted sum of values."""
        return self.output(rearrange(context, "batch heads queries size -> batch queries (heads size)"))

    @property
    def _current_dropout(self) -> float:
        return self.dropout if self.training else 0.0


class SelfAttention(MultiHeadAttention):
    """Multi-head attention of the tokens of a sequence to each other."""

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: AttentionMask
    ) -> Float[Tensor, "batch length width"]:
        memory = self.keys_and_values(states)
        if not isinstance(mask, KeyLists):
            return self.attend(states, memory, mask[:, None, None, :] if mask.ndim == 2 else mask)
        context = gathered_context(split_heads(self.query(states), self.heads), *memory, mask, self._current_dropout)
        return self.join_heads(context)


def split_heads(
    states: Float[Tensor, "batch length all_heads"], heads: int
) -> Float[Tensor, "batch heads length size"]:
    """The last axis split into `heads` equal parts; the head axis comes before the length."""
    return rearrange(states, "batch length (heads size) -> batch heads length size", heads=heads)
