import torch

from layoutray.nn.rich_attention import RichAxis
from layoutray.nn.rich_band import add_rich_scores


def test_gradients_equal_numerical_ones() -> None:
    torch.manual_seed(0)
    reach, length = 2, 5
    tokens = [torch.randn(1, 2, length, dtype=torch.float64, requires_grad=True) for _ in range(5)]
    place = torch.tensor([[[3.0, 1.5, 1.5, 0.0, 7.0]]], dtype=torch.float64)
    scores = torch.randn(1, 2, 3, reach, 1 + 3 * reach, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(
        lambda scores, *tokens: add_rich_scores(scores.clone(), RichAxis(*tokens, place), reach), (scores, *tokens)
    )


def test_keys_before_the_band_keep_their_scores() -> None:
    torch.manual_seed(0)
    axis = RichAxis(*(torch.randn(1, 2, 4) for _ in range(5)), torch.randn(1, 1, 4))
    scores = add_rich_scores(torch.zeros(1, 2, 2, 2, 1 + 6), axis, 2)
    assert not scores[..., 0].any()
    assert scores[..., 1:].all()
