"""Attention within blocks is full attention under a mask of blocks."""

import pytest
import torch
from torch import Tensor

from layoutray.nn.attention import VisibleKeys, attention_probabilities, split_heads
from layoutray.nn.blockwise_attention import BlockwiseAttention


def problem(length: int, block: int) -> tuple[BlockwiseAttention, Tensor, Tensor, Tensor]:
    """With what each token sees: (length, length)."""
    torch.manual_seed(length)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1, length // 2 :] = False
    number = torch.arange(length) // (block or length)
    return (
        BlockwiseAttention(8, 2, 0.0, block).double(),
        torch.randn(2, length, 8, dtype=torch.float64),
        mask,
        number[:, None] == number,
    )


@torch.no_grad()
@pytest.mark.parametrize(("length", "block"), [(12, 4), (10, 4), (3, 4), (12, 0), (7, 1)])
def test_it_equals_attention_under_a_mask(length: int, block: int) -> None:
    attention, states, mask, together = problem(length, block)
    seen = together & mask[:, None, None, :]
    expected = attention.attend(states, attention.keys_and_values(states), VisibleKeys(seen))
    torch.testing.assert_close(attention(states, mask)[mask], expected[mask])


@torch.no_grad()
@pytest.mark.parametrize(("length", "block"), [(12, 4), (10, 4), (12, 0)])
def test_received_attention_is_the_column_sum_of_the_blocks_matrix(length: int, block: int) -> None:
    attention, states, mask, _ = problem(length, block)
    expected = torch.zeros(2, length, dtype=torch.float64)
    for start in range(0, length, block or length):
        part = slice(start, start + (block or length))
        query, key = (split_heads(project(states[:, part]), 2) for project in (attention.query, attention.key))
        matrix = attention_probabilities(query, key, mask[:, part]) * mask[:, None, part, None]
        expected[:, part] = matrix.sum((1, 2))
    torch.testing.assert_close(attention.received(states, mask)[mask], expected[mask])


@torch.no_grad()
def test_a_block_of_padding_gives_no_nan() -> None:
    attention, states, _, _ = problem(12, 4)
    assert attention(states, torch.zeros(2, 12, dtype=torch.bool)).isfinite().all()
