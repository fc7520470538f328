"""Efficient attention equals its definition, head by head and token by token."""

import torch

from benchmarks.plugins.efficient_attention import EfficientAttention
from layoutray.nn.attention import split_heads


@torch.no_grad()
def test_it_is_the_softmax_of_queries_times_the_context_of_keys_and_values() -> None:
    torch.manual_seed(0)
    attention = EfficientAttention(12, 3).double()
    states, mask = torch.randn(2, 7, 12, dtype=torch.float64), torch.ones(2, 7, dtype=torch.bool)
    mask[1, 4:] = False
    query, key, value = (
        split_heads(project(states), 3) for project in (attention.query, attention.key, attention.value)
    )
    expected = torch.zeros(2, 7, 12, dtype=torch.float64)
    for text, real in ((0, 7), (1, 4)):
        for head in range(3):
            context = torch.zeros(4, 4, dtype=torch.float64)
            weights = key[text, head, :real].softmax(0)
            for token in range(real):
                context += torch.outer(weights[token], value[text, head, token])
            for token in range(7):
                expected[text, token, 4 * head : 4 * head + 4] = query[text, head, token].softmax(0) @ context
    torch.testing.assert_close(attention(states, mask), attention.output(expected))


@torch.no_grad()
def test_a_text_of_padding_gives_no_nan() -> None:
    assert EfficientAttention(8, 2)(torch.randn(1, 3, 8), torch.zeros(1, 3, dtype=torch.bool)).isfinite().all()
