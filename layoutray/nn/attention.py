"""Scaled dot-product attention.

One convention for masks everywhere: boolean, True on keys that may be attended to; shape (batch, keys) unless said otherwise.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.gathered_attention import KeyLists, gathered_context

Visible = Bool[Tensor, "batch length"] | Bool[Tensor, "batch heads length length"] | KeyLists
"""What tokens may attend to: keys for all queries, keys for each query of each head, or lists of the latter."""


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


class SelfAttention(nn.Module):
    """Multi-head self-attention ("Attention Is All You Need", 2017) with its output projection, without residual and norm."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, states: Float[Tensor, "batch length width"], visible: Visible) -> Float[Tensor, "batch length width"]:
        query, key, value = (split_heads(project(states), self.heads) for project in (self.query, self.key, self.value))
        dropout = self.dropout if self.training else 0.0
        if isinstance(visible, KeyLists):
            context = gathered_context(query, key, value, visible, dropout)
        else:
            seen = visible[:, None, None, :] if visible.ndim == 2 else visible
            context = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, dropout_p=dropout)
        return self.output(rearrange(context, "batch heads length size -> batch length (heads size)"))


def split_heads(states: Float[Tensor, "batch length all_heads"], heads: int) -> Float[Tensor, "batch heads length size"]:
    """The last axis cut into `heads` equal parts, heads in front of the length."""
    return rearrange(states, "batch length (heads size) -> batch heads length size", heads=heads)
