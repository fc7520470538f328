import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from layoutray.nn.attention import SelfAttention, VisibleKeys
from layoutray.nn.block import AddAndNorm, EncoderLayer, FeedForward


def normalised(states: torch.Tensor) -> torch.Tensor:
    centred = states - states.mean(-1, keepdim=True)
    return centred / centred.pow(2).mean(-1, keepdim=True).sqrt()


@torch.no_grad()
def test_updates_are_added_then_normalised() -> None:
    torch.manual_seed(0)
    states, update = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    torch.testing.assert_close(AddAndNorm(8, 0.1).eval()(states, update), normalised(states + update))


@torch.no_grad()
def test_norm_keeps_the_scale_even_of_tiny_states() -> None:
    states = torch.tensor([[[1e-3, -1e-3]]])  # torch's default epsilon of 1e-5 would shrink this to a third
    torch.testing.assert_close(AddAndNorm(2, 0.0)(states, torch.zeros_like(states)), torch.tensor([[[1.0, -1.0]]]))


def test_dropout_acts_on_the_update_alone() -> None:
    torch.manual_seed(0)
    join, states = AddAndNorm(64, 1.0).train(), torch.randn(1, 2, 64)
    torch.testing.assert_close(join(states, torch.randn(1, 2, 64)), join.norm(states))


@torch.no_grad()
def test_feed_forward_uses_the_exact_gelu() -> None:
    torch.manual_seed(0)
    block, states = FeedForward(6, 10, 0.0), torch.randn(1, 4, 6)
    inner = block.expand(states)
    gelu = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
    torch.testing.assert_close(block(states), normalised(states + block.contract(gelu)))


@torch.no_grad()
@pytest.mark.parametrize("activation", [functional.gelu, functional.relu])
def test_encoder_layer_is_torchs_post_norm_layer(activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
    torch.manual_seed(0)
    ours = EncoderLayer(SelfAttention(12, 3, 0.0), 12, feed_forward=20, dropout=0.0, activation=activation).eval()
    theirs = nn.TransformerEncoderLayer(
        12, 3, 20, dropout=0.0, activation=activation, layer_norm_eps=1e-12, batch_first=True
    ).eval()
    projections = (ours.attention.query, ours.attention.key, ours.attention.value)
    theirs.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in projections]))
    theirs.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in projections]))
    theirs.self_attn.out_proj.load_state_dict(ours.attention.output.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.expand.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.contract.state_dict())
    states, mask = torch.randn(2, 5, 12), torch.tensor([[True] * 5, [True, True, True, False, False]])
    expected = theirs(states, src_key_padding_mask=torch.zeros(mask.shape).masked_fill(~mask, -torch.inf))
    torch.testing.assert_close(ours(states, VisibleKeys.of_all_queries(mask))[mask], expected[mask])
