from dataclasses import fields

import pytest
import torch

from layoutray.nn.local_attention import Band
from layoutray.nn.rich_attention import RichAxis
from layoutray.nn.rich_band import add_rich_scores


def axis_of(*values: torch.Tensor) -> RichAxis:
    """The values in the order of the attributes."""
    return RichAxis(**dict(zip((field.name for field in fields(RichAxis)), values, strict=True)))


@pytest.mark.parametrize("band", [Band(2), Band(2, whole=5)])
def test_gradients_equal_numerical_ones(band: Band) -> None:
    torch.manual_seed(0)
    length = 5
    tokens = [torch.randn(1, 2, length, dtype=torch.float64, requires_grad=True) for _ in range(5)]
    place = torch.tensor([[[3.0, 1.5, 1.5, 0.0, 7.0]]], dtype=torch.float64)
    scores = torch.randn(
        1, 2, -(-length // band.block), band.block, 1 + band.keys, dtype=torch.float64, requires_grad=True
    )
    torch.autograd.gradcheck(
        lambda scores, *tokens: add_rich_scores(scores.clone(), axis_of(*tokens, place), band),
        (scores, *tokens),
    )


def test_keys_before_the_band_keep_their_scores() -> None:
    torch.manual_seed(0)
    axis = axis_of(*(torch.randn(1, 2, 4) for _ in range(5)), torch.randn(1, 1, 4))
    scores = add_rich_scores(torch.zeros(1, 2, 2, 2, 1 + 6), axis, Band(2))
    assert not scores[..., 0].any()
    assert scores[..., 1:].all()
