import pytest
import torch

from benchmarks.measure.iterative_topk import iterative_topk, nccs
from layoutray.errors import InputError


def test_scores_far_apart_select_single_tokens_in_order_of_score() -> None:
    states = torch.randn(2, 5, 3, dtype=torch.float64)
    scores = torch.tensor([[100.0, 300, 0, 200, 400], [0, 100, 200, 300, 400]], dtype=torch.float64)
    found, values = iterative_topk(states, scores, 3)
    places = torch.tensor([[4, 1, 3], [4, 3, 2]])
    torch.testing.assert_close(found, states.gather(1, places[..., None].expand(-1, -1, 3)))
    torch.testing.assert_close(values, scores.gather(1, places))


def test_every_score_gets_a_gradient() -> None:
    scores = torch.rand(1, 8, dtype=torch.float64, requires_grad=True)
    found, _ = iterative_topk(torch.randn(1, 8, 4, dtype=torch.float64), scores, 2)
    found.sum().backward()
    assert scores.grad is not None
    assert scores.grad.all()


def test_k_above_the_number_of_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="k is 5; it must be at least 1 and at most the number of tokens, which is 4"):
        iterative_topk(torch.zeros(1, 4, 2), torch.zeros(1, 4), 5)


def test_nccs_compares_each_exact_vector_with_its_nearest_relaxed_one() -> None:
    exact = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    assert nccs(exact, exact.flip(1) * 7).tolist() == [1.0]
    assert nccs(exact, torch.tensor([[[3.0, 0.0], [1.0, 0.0]]])).tolist() == [0.5]
