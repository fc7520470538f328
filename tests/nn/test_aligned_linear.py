import pytest
import torch
from torch.nn import functional

from layoutray.tasks.masked_lm import aligned_linear


@pytest.mark.parametrize("rows", [1, 64, 65, 130])
def test_added_rows_change_neither_the_product_nor_its_gradients(rows: int) -> None:
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(rows, 8, generator=generator), torch.randn(rows, generator=generator)
    states, upstream = torch.randn(3, 5, 8, generator=generator), torch.randn(3, 5, rows, generator=generator)
    found: list[list[torch.Tensor]] = []
    for product in (functional.linear, lambda *of: aligned_linear(*of, align=True)):
        inputs = [one.clone().requires_grad_() for one in (states, weight, bias)]
        outcome = product(*inputs)
        outcome.backward(upstream)
        found.append([outcome, *(one.grad for one in inputs if one.grad is not None)])
    assert len(found[0]) == len(found[1]) == 4
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
