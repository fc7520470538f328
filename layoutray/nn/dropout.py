"""Dropout with cheap random numbers on a CPU, where drawing them takes most of the time of `nn.Dropout`."""

import math

import numpy as np
import torch
from torch import Tensor, nn

_LEVELS = 1 << 16
"""A random number has 16 bits, so that the probability is rounded to a multiple of 1/65536."""


class FastDropout(nn.Dropout):
    """`nn.Dropout` with other random numbers on a CPU; on a GPU the same.

    PyTorch's generator gives a seed, so that `torch.manual_seed` determines the numbers. NumPy's SFC64 draws them.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  (nn.Dropout's name)
        if not (self.training and self.p) or input.is_cuda:
            return super().forward(input)
        return input * _factors(input.detach(), self.p)


def use_fast_dropout(model: nn.Module) -> None:
    """Replace every `nn.Dropout` in `model` by a `FastDropout`."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p).train(child.training))


# A compiler calls it as it is, and neither shares nor repeats its random numbers.
@torch.library.custom_op("layoutray::dropout_factors", mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))
def _factors(like: Tensor, probability: float) -> Tensor:
    """0 with `probability`, else the number that keeps the mean at 1; in the shape and type of `like`."""
    dropped = round(probability * _LEVELS)
    count = like.numel()
    random = np.random.SFC64(int(torch.randint(1 << 62, ()))).random_raw(math.ceil(count / 4)).view(np.int16)
    factors = torch.empty_like(like, memory_format=torch.contiguous_format)
    torch.ge(torch.from_numpy(random)[:count].view(like.shape), dropped - _LEVELS // 2, out=factors)
    return factors.mul_(_LEVELS / (_LEVELS - dropped))


@_factors.register_fake
def _shape_of_factors(like: Tensor, probability: float) -> Tensor:  # pyright: ignore[reportUnusedFunction]
    return torch.empty_like(like, memory_format=torch.contiguous_format)
