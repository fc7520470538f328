"""Attention that is linear in length, because keys and values meet first: "Efficient Attention: Attention with Linear Complexities"
(WACV 2021, arXiv:1812.01243).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from layoutray.nn.attention import MultiHeadAttention, split_heads


class EfficientAttention(MultiHeadAttention):
    """softmax(Q) · (softmax(K)ᵀ V): of each query over its features, of each feature of the keys over the real tokens.

    No matrix of probabilities is ever made, so none are dropped.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads, 0.0)

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        key, value = self.remember(states)
        key = key.masked_fill(~mask[:, None, :, None], torch.finfo(key.dtype).min).softmax(2).to(value.dtype)
        query = split_heads(self.query(states), self.heads).softmax(3).to(value.dtype)
        return self.update(query @ (key.transpose(2, 3) @ value))
