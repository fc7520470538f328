"""Relative biases start at zero and depend on distance alone; tests/oracle compares buckets with T5's."""

import torch

from layoutray.nn.gentle import set_to_zero
from layoutray.nn.relative_bias import BUCKETS, RelativeBias, relative_buckets


def boxes(rows: int = 2, length: int = 9) -> torch.Tensor:
    corners = torch.rand(rows, length, 2, 2, generator=torch.Generator().manual_seed(3)).sort(dim=2).values
    return corners.flatten(2)


def drawn(heads: int = 3) -> RelativeBias:
    torch.manual_seed(0)
    return RelativeBias(heads)


def test_every_bucket_is_reached_and_order_within_a_side_is_kept() -> None:
    found = relative_buckets(torch.arange(-300, 301), 128)
    assert sorted(set(found.tolist())) == sorted({*range(BUCKETS)} - {BUCKETS // 2})
    assert (found[:301].diff() <= 0).all()
    assert (found[301:].diff() >= 0).all()


def test_tables_start_at_zero() -> None:
    bias = drawn()
    set_to_zero(bias)
    assert not bias(boxes()).any()


@torch.no_grad()
def test_biases_do_not_change_when_all_boxes_are_shifted() -> None:
    bias, placed = drawn(), (boxes() * 256).round() / 256
    torch.testing.assert_close(bias(placed + 0.25), bias(placed))


@torch.no_grad()
def test_each_table_sees_its_own_distance() -> None:
    bias, placed = drawn(), boxes()
    wider = placed + torch.tensor([0.0, 0.0, 0.3, 0.0])
    assert torch.equal(bias(wider), bias(placed)), "right edges count for nothing"
    right, down = (placed * torch.tensor(stretch) for stretch in ([3.0, 1.0, 3.0, 1.0], [1.0, 3.0, 1.0, 3.0]))
    for stretched, blind in ((right, bias.horizontal), (down, bias.vertical)):
        assert not torch.equal(bias(stretched), bias(placed))
        kept = blind.weight.clone()
        blind.weight.zero_()
        assert torch.equal(bias(stretched), bias(placed))
        blind.weight.copy_(kept)


def test_every_head_and_table_gets_a_gradient() -> None:
    bias = drawn()
    bias(boxes()).pow(2).sum().backward()
    gradients = [table.weight.grad for table in (bias.sequential, bias.horizontal, bias.vertical)]
    assert all(gradient is not None and gradient.any(0).all() for gradient in gradients)
