"""Properties of scorers; tests/oracle compares numbers."""

from typing import get_args

import pytest
import torch
from torch import Tensor

from layoutray.nn.token_scoring import ScorerName, received_attention, scorer


def received() -> Tensor:
    return torch.arange(24.0).view(2, 12)


@pytest.mark.parametrize("name", get_args(ScorerName))
def test_every_token_gets_one_score(name: ScorerName) -> None:
    assert scorer(name, 8, 0.1, 4)(torch.randn(2, 12, 8), received).shape == (2, 12)


@pytest.mark.parametrize("name", ["linear", "nonlinear"])
def test_learned_scores_stay_above_those_of_padding_and_apart_in_half_precision(name: ScorerName) -> None:
    torch.manual_seed(0)
    states = torch.randn(1, 200, 8, dtype=torch.bfloat16) * 100
    scores = scorer(name, 8, 0.0, 4).bfloat16()(states, received)
    assert scores.dtype == torch.float32
    assert ((scores >= 1e-5) & (scores <= 1 + 1e-5)).all()


def test_random_scores_are_drawn_anew_and_depend_on_the_seed() -> None:
    random, states = scorer("random", 8, 0.0, 4), torch.zeros(1, 50, 8)
    torch.manual_seed(0)
    first, second = random(states, received), random(states, received)
    torch.manual_seed(0)
    assert not torch.equal(first, second)
    assert torch.equal(random(states, received), first)


def test_padding_gives_no_attention() -> None:
    attention = torch.rand(1, 2, 4, 4).softmax(-1)
    mask = torch.tensor([[True, True, True, False]])
    torch.testing.assert_close(received_attention(attention, mask), attention[:, :, :3].sum((1, 2)))
