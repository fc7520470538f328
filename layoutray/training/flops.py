"""Model FLOPs utilisation (MFU): the operations that a model needs, as a share of what its devices can compute.

As in PaLM (arXiv:2204.02311, appendix B), the forward and backward pass together need 6 operations for each token and
weight of a linear layer, and 12 times the width for each pair of tokens and layer of full attention. Padding, dropout
and recomputation are no part of it.
"""

import timeit
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, cast

import torch
from torch import nn

from layoutray.tasks import TaskModel
from layoutray.tensors import Encoder

_PEAKS = {
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
}
"""Operations per second of GPUs in bf16 without sparsity, by a part of the name; from the maker's data sheets."""
_SIDE, _REPEATS = 512, 50
"""Of the matrix products that measure a CPU: short ones, so that other programs interrupt only some of them."""


class Work(NamedTuple):
    """What a training step computes.

    Attributes:
        tokens: real tokens.
        targets: tokens with a target; the head computes only these.
        pairs: pairs of tokens of the same window.
    """

    tokens: float
    targets: float
    pairs: float


@dataclass(frozen=True)
class ModelFlops:
    """Operations of a training step by its `Work`.

    Attributes:
        per_token, per_target, per_pair: operations of the forward and backward pass.
    """

    per_token: float
    per_target: float
    per_pair: float

    @classmethod
    def of(cls, model: TaskModel, layers: int) -> "ModelFlops":
        """Those of `model`, whose encoder has so many layers with attention."""
        return cls(
            6 * _linear_weights(model.encoder),
            6 * _linear_weights(model.head),
            12 * layers * cast(Encoder, model.encoder).width,
        )

    def __call__(self, work: Work) -> float:
        return self.per_token * work.tokens + self.per_target * work.targets + self.per_pair * work.pairs


def peak(device: torch.device) -> float | None:
    """Operations per second that `device` can compute; None for a GPU that is not known.

    For a GPU, the data sheet's number in bf16. For a CPU, the speed of matrix products in float32, measured once in a
    process.
    """
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        return next((speed for part, speed in _PEAKS.items() if part in name), None)
    return _measured_peak()


@cache
def _measured_peak() -> float:
    matrix = torch.ones(_SIDE, _SIDE)
    return 2 * _SIDE**3 / min(timeit.repeat(lambda: torch.mm(matrix, matrix), number=1, repeat=_REPEATS))


def _linear_weights(module: nn.Module) -> int:
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))
