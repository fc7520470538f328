"""One training step of FormNet's encoder, with Rich Attention and without it (ETC).

The loss is the mean square of the states, so that no head dilutes what attention costs. Probabilities are not dropped, on either
side: then a GPU runs its fused kernel.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from torch import Tensor, nn

from benchmarks.measure.training_step import Case, encoder
from layoutray.tensors import Batch


class _Alone(nn.Module):
    """An encoder with a loss that costs nothing."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.encoder = made

    def forward(self, batch: Batch) -> Tensor:
        return self.encoder(batch).states.square().mean()


def _formnet(attention: Literal["rich", "plain"], case: Case) -> nn.Module:
    return _Alone(encoder("formnet", case, attention=attention, attention_dropout=0.0, graph_layers=0))


MODELS: Mapping[str, Callable[[Case], nn.Module]] = {
    "ETC": partial(_formnet, "plain"),
    "Rich Attention": partial(_formnet, "rich"),
}
"""How each is built."""
