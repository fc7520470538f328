"""Attention that is linear in length because it multiplies keys by values first.

"Efficient Attention: Attention with Linear Complexities" (WACV 2021, arXiv:1812.01243).
Here it is encoder `efficient` of the Pyramidion family.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from layoutray.nn.attention import MultiHeadAttention, split_heads
from layoutray.nn.encoder_family import Member, no_halvings


class EfficientAttention(MultiHeadAttention):
    """softmax(Q) · (softmax(K)ᵀ V): the softmax of queries is over features, that of keys is over the real tokens.

    There is no matrix of attention probabilities and hence no attention dropout.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads, 0.0)

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        key, value = self.keys_and_values(states)
        key = key.masked_fill(~mask[:, None, :, None], torch.finfo(key.dtype).min).softmax(2).to(value.dtype)
        query = split_heads(self.query(states), self.heads).softmax(3).to(value.dtype)
        return self.join_heads(query @ (key.transpose(2, 3) @ value))


ENCODER = Member(halvings=no_halvings, attention=lambda config: EfficientAttention(config.hidden, config.heads))
