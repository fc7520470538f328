"""Banded attention equals dense attention under a band, and stays linear in memory."""

import math

import pytest
import torch
from torch import Tensor

from layoutray.nn.local_attention import LocalSelfAttention, banded_context, banded_probabilities, dense_matrix


def brute_force(query: Tensor, key: Tensor, mask: Tensor, reach: int) -> Tensor:
    """One score at a time."""
    batch, heads, length, size = query.shape
    probabilities = torch.zeros(batch, heads, length, length, dtype=query.dtype)
    for row in range(batch):
        for at in range(length):
            seen = [other for other in range(max(0, at - reach), min(length, at + reach + 1)) if mask[row, other]]
            if mask[row, at]:
                scores = (query[row, :, at, None] * key[row, :, seen]).sum(-1) / math.sqrt(size)
                probabilities[row, :, at, seen] = scores.softmax(-1)
    return probabilities


def qkv(length: int, size: int = 5) -> list[Tensor]:
    torch.manual_seed(length)
    return [torch.randn(2, 3, length, size, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize(("length", "reach"), [(4, 4), (8, 4), (12, 4), (12, 3), (6, 1), (20, 2)])
def test_probabilities_and_context_equal_brute_force(length: int, reach: int) -> None:
    query, key, value = qkv(length)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1, length // 2 :] = False
    expected = brute_force(query, key, mask, reach)
    found = banded_probabilities(query, key, mask, reach)
    assert found.shape == (2, 3, length // reach, reach, 3 * reach)
    torch.testing.assert_close(dense_matrix(found), expected)
    torch.testing.assert_close(banded_context(found, value), expected @ value)


def test_a_window_of_only_padding_gives_zeros_not_nan() -> None:
    query, key, value = (part.requires_grad_() for part in qkv(8))
    context = banded_context(banded_probabilities(query, key, torch.zeros(2, 8, dtype=torch.bool), 2), value)
    assert not context.any()
    context.sum().backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in (query, key, value))


def test_a_band_over_everything_is_ordinary_attention() -> None:
    query, key, value = qkv(6)
    everything = torch.ones(2, 6, dtype=torch.bool)
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(banded_context(banded_probabilities(query, key, everything, 6), value), expected)


def test_no_tensor_grows_with_the_square_of_the_length() -> None:
    layer = LocalSelfAttention(16, 2, 8, 0.0)
    largest: list[int] = []
    for length in (256, 512, 1024):
        sizes: list[int] = []

        def note(saved: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(saved.numel())
            return saved

        with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
            layer(torch.randn(1, length, 16), torch.ones(1, length, dtype=torch.bool)).sum().backward()
        largest.append(max(sizes))
    assert largest[2] == 2 * largest[1] == 4 * largest[0]
