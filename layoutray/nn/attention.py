"""Scaled dot-product attention.

One convention for masks everywhere: boolean, True on keys that may be attended to; shape (batch, keys) unless said otherwise. Where
scores have terms of their own, `hidden_keys` puts the mask among these.
"""

import math
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.gathered_attention import KeyLists, gathered_context

Visible = (
    Bool[Tensor, "batch length"]
    | Bool[Tensor, "batch heads length length"]
    | Float[Tensor, "batch heads length length"]
    | KeyLists
)
"""What tokens may attend to: keys for all queries; keys for each query of each head, or lists of these; or what is added to scores."""

_NEVER = -1e9
"""A score, for no weight at all; finite in every type, so that a query that sees nothing gets numbers."""


def hidden_keys(
    terms: Float[Tensor, "batch heads length length"], mask: Bool[Tensor, "batch length"]
) -> Float[Tensor, "batch heads length length"]:
    """`terms` to add to scores, so low at keys that `mask` hides that these get no weight."""
    return terms.masked_fill(~mask[:, None, None, :], _NEVER)


def attention_probabilities(
    query: Float[Tensor, "batch heads queries size"],
    key: Float[Tensor, "batch heads keys size"],
    mask: Bool[Tensor, "batch keys"],
) -> Float[Tensor, "batch heads queries keys"]:
    """softmax(QKᵀ/√size) over the keys that `mask` allows; exactly 0 on all others.

    A row without any allowed key gets equal probabilities, not NaN.
    """
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
    # Autocast widens the softmax to float32; what is kept for later layers goes back to the queries' type.
    return scores.softmax(-1).to(query.dtype)


class Memory(NamedTuple):
    """What is attended to, projected, so that it can be kept from one step of generation to the next."""

    key: Float[Tensor, "batch heads keys size"]
    value: Float[Tensor, "batch heads keys size"]


class MultiHeadAttention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", 2017) with its output projection, without residual and norm."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def remember(self, states: Float[Tensor, "batch keys width"]) -> Memory:
        """Keys and values of `states`."""
        return Memory(split_heads(self.key(states), self.heads), split_heads(self.value(states), self.heads))

    def recall(
        self,
        states: Float[Tensor, "batch queries width"],
        memory: Memory,
        seen: Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"],
    ) -> Float[Tensor, "batch queries width"]:
        """The update of `states` from what each of them sees of `memory`, or from scores that `seen` is added to."""
        context = functional.scaled_dot_product_attention(
            split_heads(self.query(states), self.heads), *memory, attn_mask=seen, dropout_p=self._dropout_now
        )
        return self.update(context)

    def update(self, context: Float[Tensor, "batch heads queries size"]) -> Float[Tensor, "batch queries width"]:
        """The heads' sums of values, joined and projected."""
        return self.output(rearrange(context, "batch heads queries size -> batch queries (heads size)"))

    @property
    def _dropout_now(self) -> float:
        return self.dropout if self.training else 0.0


class SelfAttention(MultiHeadAttention):
    """Attention of tokens to each other."""

    def forward(
        self, states: Float[Tensor, "batch length width"], visible: Visible
    ) -> Float[Tensor, "batch length width"]:
        memory = self.remember(states)
        if not isinstance(visible, KeyLists):
            return self.recall(states, memory, visible[:, None, None, :] if visible.ndim == 2 else visible)
        context = gathered_context(split_heads(self.query(states), self.heads), *memory, visible, self._dropout_now)
        return self.update(context)


def split_heads(
    states: Float[Tensor, "batch length all_heads"], heads: int
) -> Float[Tensor, "batch heads length size"]:
    """The last axis cut into `heads` equal parts, heads in front of the length."""
    return rearrange(states, "batch length (heads size) -> batch heads length size", heads=heads)
