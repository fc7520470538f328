"""Random inputs of global-local attention, and the contexts and gradients that a computation gives for them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from layoutray.nn.attention import split_heads
from layoutray.nn.global_local_attention import GlobalLocalAttention
from layoutray.nn.global_local_context import AttentionInputs, dense_probabilities
from layoutray.nn.rich_attention import RichAttention

Compute = Callable[[AttentionInputs, Tensor], Tensor]

HEADS, SIZE = 2, 4


@dataclass
class Problem:
    attention: GlobalLocalAttention
    states: Tensor
    mask: Tensor
    places: Tensor

    def on(self, device: str) -> "Problem":
        """The same problem on `device`."""
        states = self.states.detach().to(device).requires_grad_()
        return Problem(self.attention.to(device), states, self.mask.to(device), self.places.to(device))

    def context(self, compute: Compute) -> Tensor:
        value = split_heads(self.attention.value(self.states), HEADS)
        return compute(self.attention.attention_inputs(self.states, self.mask, self.places), value)

    def outcome(self, compute: Compute) -> dict[str, Tensor]:
        """The contexts, and the gradients of the states and of every parameter."""
        self.attention.zero_grad()
        self.states.grad = None
        context = self.context(compute)
        context.square().sum().backward()
        parameters = {name: parameter.grad for name, parameter in self.attention.named_parameters()}
        found = {"context": context.detach(), "states": self.states.grad, **parameters}
        return {name: tensor for name, tensor in found.items() if tensor is not None}


def problem(length: int, reach: int, *, clip: int = 0, rich: bool = True, seed: int = 0, size: int = SIZE) -> Problem:
    """Two windows, the second half padding; weights are large enough that every term matters."""
    torch.manual_seed(seed)
    width = HEADS * size
    maps = RichAttention(HEADS, size) if rich else None
    attention = GlobalLocalAttention(width, HEADS, reach, clip=clip, rich=maps, dropout=0.0)
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1, length // 2 :] = False
    states = torch.randn(2, 1 + length, width, requires_grad=True)
    # Few distinct coordinates: many tokens share one.
    return Problem(attention, states, mask, torch.randint(0, 20, (2, length, 2)) / 2)


def dense_context(inputs: AttentionInputs, value: Tensor) -> Tensor:
    return dense_probabilities(inputs) @ value


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Compare with a tolerance of 1e-5 of the largest number: some gradients are zero except for rounding errors."""
    assert found.keys() == expected.keys()
    scale = max(float(tensor.abs().max()) for tensor in expected.values())
    for name, tensor in expected.items():
        torch.testing.assert_close(
            found[name], tensor, atol=1e-5 * max(1.0, scale), rtol=0, msg=lambda said, name=name: f"{name}: {said}"
        )
