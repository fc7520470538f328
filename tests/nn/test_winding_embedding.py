"""The winding embedding keeps the aspect ratio of pages; tests/oracle compares numbers."""

import pytest
import torch

from layoutray.nn.winding_embedding import WindingEmbedding, factors, page_scaled

HALF = torch.tensor([[[0.5, 0.5, 1.0, 1.0]]])


@pytest.mark.parametrize(
    ("size", "place"),
    [((600, 800), (0.375, 0.5, 0.75, 1.0)), ((1000, 500), (0.5, 0.25, 1.0, 0.5)), ((7, 7), (0.5, 0.5, 1.0, 1.0))],
)
def test_the_longer_side_is_one_and_the_aspect_is_kept(size: tuple[int, int], place: tuple[float, ...]) -> None:
    torch.testing.assert_close(page_scaled(HALF, torch.tensor([size])), torch.tensor([[place]]))


def test_each_page_of_a_batch_has_its_own_size() -> None:
    both = page_scaled(HALF.repeat(2, 3, 1), torch.tensor([[600, 800], [1000, 500]]))
    assert both[:, 2, 2:].tolist() == [[0.75, 1.0], [1.0, 0.5]]


def test_both_orders_hold_the_same_numbers_where_the_factors_are_the_same() -> None:
    boxes = torch.rand(1, 5, 4, generator=torch.Generator().manual_seed(0))
    paper, released = WindingEmbedding(32, "paper"), WindingEmbedding(32, "released")
    assert [factors(4, "paper")[0].item(), factors(4, "released")[0].item()] == [0.25, 1.0]
    paper.factors = released.factors
    side_by_side = paper(boxes).unflatten(-1, (4, 4, 2))
    sines_first = released(boxes).unflatten(-1, (4, 2, 4))
    assert torch.equal(side_by_side[..., 0], sines_first[:, :, :, 1])
    assert torch.equal(side_by_side[..., 1], sines_first[:, :, :, 0])


def test_a_thousandth_of_a_page_changes_the_embedding() -> None:
    near, nearer = (WindingEmbedding(768, "paper")(torch.full((1, 1, 4), place)) for place in (0.4, 0.401))
    assert (near - nearer).abs().max() > 0.3
