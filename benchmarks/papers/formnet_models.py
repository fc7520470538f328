"""FormNet's encoder with Rich Attention and without it (ETC), for the cost of a training step.

The loss is the mean square of the states: a head would hide the difference that attention makes. Attention dropout is
off for both, so that a GPU uses its fused kernel.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from torch import Tensor, nn

from benchmarks.measure.training_step import StepCase, build_encoder
from layoutray.tensors import Batch


class _EncoderWithLoss(nn.Module):
    """An encoder with a loss whose cost is negligible."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: Batch) -> Tensor:
        return self.encoder(batch).states.square().mean()


def _formnet(attention: Literal["rich", "plain"], case: StepCase) -> nn.Module:
    return _EncoderWithLoss(build_encoder("formnet", case, attention=attention, attention_dropout=0.0, graph_layers=0))


MODELS: Mapping[str, Callable[[StepCase], nn.Module]] = {
    "ETC": partial(_formnet, "plain"),
    "Rich Attention": partial(_formnet, "rich"),
}
"""How each model is built."""
