import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from layoutray.nn.rich_attention import RichAttention, distance_score, order_score, rich_scores

FINITE = st.floats(-1e4, 1e4, width=32)


@given(FINITE, st.integers(0, 1000), st.integers(0, 1000))
def test_the_order_term_is_minus_a_cross_entropy(logit: float, query: int, key: int) -> None:
    z = torch.tensor(logit, dtype=torch.float64, requires_grad=True)
    score = order_score(z, torch.tensor(query), torch.tensor(key))
    truth = torch.tensor(float(query < key), dtype=torch.float64)
    torch.testing.assert_close(-score, torch.nn.functional.binary_cross_entropy_with_logits(z, truth))
    score.backward()
    assert z.grad is not None
    torch.testing.assert_close(z.grad, truth - z.detach().sigmoid())


def test_the_distance_term_is_a_squared_error_of_logarithms() -> None:
    score = distance_score(torch.tensor(2.0), torch.tensor(0.5), torch.tensor(10.0), torch.tensor(3.0))
    assert score.item() == pytest.approx(-(0.5**2) * (math.log(1 + 7) - 2) ** 2 / 2)


def test_initially_orders_are_equally_probable_and_near_tokens_are_slightly_preferred() -> None:
    torch.manual_seed(0)
    rich = RichAttention(4, 64)
    states = 0.3 * torch.randn(1, 4, 2, 64)
    here_and_there = [
        (torch.zeros(1, 2, 2), 0.0),
        (torch.tensor([[[0.0, 0.0], [100.0, 0.0]]]), -0.67),
        (torch.tensor([[[0.0, 0], [1000, 0]]]), -1.49),
    ]
    for places, cost in here_and_there:
        scores = rich_scores(rich(states, states, places))[..., 0, 1]
        torch.testing.assert_close(scores, torch.full_like(scores, 2 * math.log(0.5) + cost), atol=0.1, rtol=0)


def test_axes_add_up() -> None:
    torch.manual_seed(0)
    query, key, places = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4), torch.randint(0, 9, (2, 5, 3)).float()
    axes = RichAttention(3, 4, axes=3)(query, key, places)
    torch.testing.assert_close(rich_scores(axes), sum(rich_scores([axis]) for axis in axes))
