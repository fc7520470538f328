import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from layoutray.nn.attention import SelfAttention, VisibleKeys
from layoutray.nn.gathered_attention import key_lists


def case(length: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """States of two pages, the second half padding, and the keys that each query and head sees (at least itself)."""
    random = torch.Generator().manual_seed(seed)
    states = torch.randn(2, length, 16, generator=random)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1, max(length // 2, 1) :] = False
    seen = (torch.rand(2, 4, length, length, generator=random) < 0.2) | torch.eye(length, dtype=torch.bool)
    return states, seen & mask[:, None, None, :], mask


@given(st.integers(1, 40), st.integers(1, 16), st.integers(0, 5))
def test_it_equals_the_dense_computation_on_real_tokens(length: int, block: int, seed: int) -> None:
    states, seen, mask = case(length, seed)
    attention = SelfAttention(16, 4, 0.0)
    gathered = attention(states, key_lists(seen, mask, block))
    torch.testing.assert_close(gathered[mask], attention(states, VisibleKeys(seen))[mask], atol=1e-6, rtol=1e-5)


def test_gradients_equal_the_dense_ones() -> None:
    states, seen, mask = case(37)
    attention = SelfAttention(16, 4, 0.0)
    grads: list[Tensor] = []
    for scorer in (VisibleKeys(seen), key_lists(seen, mask, 8)):
        leaf = states.clone().requires_grad_()
        attention(leaf, scorer)[mask].square().sum().backward()
        assert leaf.grad is not None
        grads.append(leaf.grad)
    torch.testing.assert_close(grads[0], grads[1], atol=1e-5, rtol=1e-4)


def test_a_page_of_padding_gives_no_nan() -> None:
    states, seen, _ = case(9)
    nothing = torch.zeros(2, 9, dtype=torch.bool)
    assert SelfAttention(16, 4, 0.0)(states, key_lists(seen, nothing, 4)).isfinite().all()


@pytest.mark.parametrize(("block", "listed"), [(1, 5), (8, 12), (64, 64)])
def test_lists_have_the_length_of_the_keys_that_a_block_sees(block: int, listed: int) -> None:
    place = torch.arange(64)
    seen = ((place[:, None] - place).abs() <= 2).expand(1, 1, 64, 64)
    lists = key_lists(seen, torch.ones(1, 64, dtype=torch.bool), block)
    assert lists.keys.shape[-1] == listed
    assert lists.share == listed / 64
