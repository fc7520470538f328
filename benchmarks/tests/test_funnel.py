"""Means of neighbours query all tokens."""

import pytest
import torch
from torch import Tensor

from benchmarks.plugins.funnel import funnel_encode, funnel_layer
from layoutray.nn.block import EncoderLayer
from layoutray.nn.blockwise_attention import BlockwiseAttention
from layoutray.tensors import Encoded

WIDTH = 8


def layer() -> EncoderLayer:
    return EncoderLayer(BlockwiseAttention(WIDTH, 2, 0.0, 0), WIDTH, feed_forward=16, dropout=0.0).double()


def tokens(length: int, real: int) -> Encoded:
    torch.manual_seed(length)
    mask = (torch.arange(length) < real).expand(2, length)
    return Encoded(
        states=torch.randn(2, length, WIDTH, dtype=torch.float64),
        mask=mask,
        origin=torch.arange(length).expand(2, length),
    )


def by_hand(one: EncoderLayer, states: Tensor, stride: int) -> Tensor:
    """For a text without padding: queries are the means of windows, keys are all tokens."""
    means = torch.stack([states[start : start + stride].mean(0) for start in range(0, len(states), stride)])
    attention = one.attention
    assert isinstance(attention, BlockwiseAttention)
    query, key, value = (
        project(rows).unflatten(-1, (2, -1)).transpose(0, 1)
        for project, rows in ((attention.query, means), (attention.key, states), (attention.value, states))
    )
    probabilities = (query @ key.transpose(1, 2) / 2).softmax(-1)
    update = attention.output((probabilities @ value).transpose(0, 1).flatten(1))
    return one.feed_forward(one.join(means[None], update[None]))[0]


@torch.no_grad()
@pytest.mark.parametrize(("length", "real", "stride"), [(8, 8, 2), (9, 9, 4), (12, 5, 4), (3, 3, 8), (4, 4, 1)])
def test_means_of_windows_query_all_real_tokens(length: int, real: int, stride: int) -> None:
    one, given = layer(), tokens(length, real)
    made = funnel_layer(one, given, stride)
    for text in range(2):
        torch.testing.assert_close(made.states[text, made.mask[text]], by_hand(one, given.states[text, :real], stride))
        assert made.origin[text, made.mask[text]].tolist() == list(range(0, real, stride))


@torch.no_grad()
def test_every_token_gets_the_state_of_its_mean() -> None:
    layers, given = [layer(), layer(), layer()], tokens(9, 9)
    whole = layers[0](given.states, given.mask)
    means = layers[2](
        funnel_layer(layers[1], Encoded(states=whole, mask=given.mask, origin=given.origin), 4).states,
        torch.ones(2, 3, dtype=torch.bool),
    )
    made = funnel_encode(layers, given, 4)
    torch.testing.assert_close(made.states, whole + means[:, torch.arange(9) // 4])
    assert torch.equal(made.origin, given.origin)
