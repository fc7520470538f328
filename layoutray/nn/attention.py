"""Scaled dot-product attention.

An `AttentionScorer` is handed to attention. It says which keys a query sees and what is added to the scores, and sums
the values. `VisibleKeys` and `SameWindow` are here; each other kind is beside its mathematics.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.dropout import FastDropout
from layoutray.tensors import Places

_MASKED_SCORE = -1e9
"""Score of a masked key, which gets weight 0. Finite in every type: a query without visible keys gets no NaN."""


class KeysAndValues(NamedTuple):
    """Projected states to attend to; a decoder caches them from one generation step to the next."""

    key: Float[Tensor, "batch heads keys size"]
    value: Float[Tensor, "batch heads keys size"]


@runtime_checkable
class AttentionScorer(Protocol):
    """Scores keys for queries."""

    def context(
        self, query: Float[Tensor, "batch heads queries size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "batch heads queries size"]:
        """The sum of the values of `memory`, weighted by the softmax of the scores; `dropout` is on the weights."""
        ...


@dataclass(frozen=True)
class VisibleKeys:
    """Keys are visible or hidden; the scores of visible ones may have a bias.

    Attributes:
        mask: True on visible keys; or numbers that are added to the scores, on hidden keys so low that they get weight
            0.
    """

    mask: Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"]

    @classmethod
    def of_all_queries(cls, mask: Bool[Tensor, "batch keys"]) -> "VisibleKeys":
        """All queries and heads see the same keys."""
        return cls(mask[:, None, None, :])

    @classmethod
    def with_bias(
        cls, bias: Float[Tensor, "batch heads queries keys"], mask: Bool[Tensor, "batch keys"]
    ) -> "VisibleKeys":
        """`bias` on the keys where `mask` is True; all others are hidden."""
        return cls(bias.masked_fill(~mask[:, None, None, :], _MASKED_SCORE))

    def context(
        self, query: Float[Tensor, "batch heads queries size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "batch heads queries size"]:
        return weighted_values(query, memory, self.mask, dropout)


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


@runtime_checkable
class HasProjections(Protocol):
    """Attention with linear maps of the states."""

    output: nn.Linear

    def projections(self) -> tuple[nn.Linear, ...]:
        """The maps to queries, values and keys, if it has all."""
        ...


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

    def projections(self) -> tuple[nn.Linear, ...]:
        return self.query, self.value, self.key

    def keys_and_values(self, states: Float[Tensor, "batch keys width"]) -> KeysAndValues:
        return KeysAndValues(split_heads(self.key(states), self.heads), split_heads(self.value(states), self.heads))

    def attend(
        self, states: Float[Tensor, "batch queries width"], memory: KeysAndValues, scorer: AttentionScorer
    ) -> Float[Tensor, "batch queries width"]:
        """The update of `states` by attention to `memory`."""
        return self.join_heads(scorer.context(split_heads(self.query(states), self.heads), memory, self.dropout))

    def join_heads(self, context: Float[Tensor, "batch heads queries size"]) -> Float[Tensor, "batch queries width"]:
        """The output projection of the concatenated heads; `context` holds each head's weighted sum of values."""
        return self.output(rearrange(context, "batch heads queries size -> batch queries (heads size)"))


class SelfAttention(MultiHeadAttention):
    """Multi-head attention of the tokens of a sequence to each other."""

    def forward(
        self, states: Float[Tensor, "batch length width"], scorer: AttentionScorer
    ) -> Float[Tensor, "batch length width"]:
        return self.attend(states, self.keys_and_values(states), scorer)


def split_heads(
    states: Float[Tensor, "batch length all_heads"], heads: int
) -> Float[Tensor, "batch heads length size"]:
    """The last axis split into `heads` equal parts; the head axis comes before the length."""
    return rearrange(states, "batch length (heads size) -> batch heads length size", heads=heads)


def weighted_values(
    query: Float[Tensor, "batch heads queries size"],
    memory: KeysAndValues,
    mask: Bool[Tensor, "#batch #heads #queries keys"] | Float[Tensor, "#batch #heads #queries keys"] | None,
    dropout: nn.Dropout,
) -> Float[Tensor, "batch heads queries size"]:
    """Scaled dot-product attention; `mask` is True on visible keys, or a bias of the scores."""
    probability = dropout.p if dropout.training else 0.0
    if query.is_cuda or not (isinstance(dropout, FastDropout) and probability):
        return functional.scaled_dot_product_attention(query, *memory, attn_mask=mask, dropout_p=probability)
    scores = (query / math.sqrt(query.shape[-1])) @ memory.key.transpose(-1, -2)
    if mask is not None:
        scores = scores + (torch.where(mask, 0.0, _MASKED_SCORE) if mask.dtype == torch.bool else mask)
    return dropout(scores.softmax(-1)) @ memory.value


@dataclass(frozen=True)
class SameWindow:
    """A token sees all tokens of its window; the real tokens of all windows stand in one row, without padding.

    Attributes:
        queries: places of the tokens that attend.
        keys: places of the tokens that are attended to.
    """

    queries: Places
    keys: Places

    def context(
        self, query: Float[Tensor, "1 heads queries size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "1 heads queries size"]:
        """See `AttentionScorer`.

        A CPU computes window by window. A GPU, which is slow at many small products, pads the windows meanwhile.
        """
        if query.is_cuda:
            padded = KeysAndValues(*(in_windows(part, self.keys) for part in memory))
            visible = VisibleKeys.of_all_queries(self.keys.mask())
            return in_one_row(visible.context(in_windows(query, self.queries), padded, dropout), self.queries)
        windows = zip(by_window(query, self.queries), *(by_window(part, self.keys) for part in memory), strict=True)
        contexts = [weighted_values(query, KeysAndValues(*memory), None, dropout) for query, *memory in windows]
        return torch.cat(contexts, dim=2)


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
