"""Scores of relations equal queries times the vectors that are added to the keys, and hidden keys get no weight."""

import math

import torch

from benchmarks.plugins.relative_keys import RelativeKeys
from layoutray.nn.attention import SelfAttention, split_heads


@torch.no_grad()
def test_attention_is_that_of_keys_with_added_vectors() -> None:
    torch.manual_seed(0)
    attention, states = SelfAttention(12, 3, 0.0).eval(), torch.randn(2, 5, 12)
    vectors = torch.randn(7, 4)
    numbers = (torch.randint(7, (1, 5, 5)), torch.randint(7, (2, 5, 5)))
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    query, (key, value) = split_heads(attention.query(states), 3), attention.keys_and_values(states)
    keys = key.unsqueeze(2) + sum(vectors[number] for number in numbers).unsqueeze(1)
    scores = torch.einsum("bhis,bhijs->bhij", query, keys) / math.sqrt(4)
    probabilities = scores.masked_fill(~mask[:, None, None, :], -math.inf).softmax(-1)
    expected = attention.join_heads(probabilities @ value)
    torch.testing.assert_close(attention(states, RelativeKeys(vectors, numbers, mask)), expected)
