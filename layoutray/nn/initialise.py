"""BERT's initial weights."""

import torch
from torch import nn

STANDARD_DEVIATION = 0.02


@torch.no_grad()
def initialise(module: nn.Module) -> None:
    """Redraw all weights below `module`: linear and embedding N(0, 0.02²), biases 0, LayerNorm gain 1 and shift 0.

    The padding row of an embedding is drawn like any other: in the Skim-Attention release it is not zero.
    """
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            part.reset_parameters()
        elif isinstance(part, nn.Linear | nn.Embedding):
            for name, parameter in part.named_parameters(recurse=False):
                if name == "bias":
                    parameter.zero_()
                else:
                    parameter.normal_(0.0, STANDARD_DEVIATION)
