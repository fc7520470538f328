"""Other ways to compute a model's layers: compiled, or with activations that the backward pass computes again.

Both replace the `forward` of each layer. The modules stay, and with them the names of the weights.
"""

import os
import shutil
from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from layoutray.errors import InputError


def compile_layers(model: nn.Module, device: torch.device) -> None:
    """Compile each layer for windows of any length. Equal layers share the result, so that one of them takes time.

    Raises:
        InputError: if this machine has no compiler for the code that PyTorch writes for `device`.
    """
    language, variable, usual = ("C", "CC", "gcc") if device.type == "cuda" else ("C++", "CXX", "g++")
    name = os.environ.get(variable, usual)
    if shutil.which(name) is None:
        raise InputError(
            f"train.compile is true, which needs a {language} compiler, and {name!r} was not found; install it, name "
            f"another in the environment variable {variable}, or train with train.compile=false"
        )
    for layer in _layers(model):
        layer.forward = torch.compile(layer.forward, dynamic=True)


def checkpoint_activations(model: nn.Module) -> None:
    """Keep only the input of each layer. The backward pass computes the layer again, with the same random numbers."""
    for layer in _layers(model):
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def _layers(model: nn.Module) -> list[nn.Module]:
    """The layers of encoder and decoder: the members of all lists of modules."""
    return [layer for part in model.modules() if isinstance(part, nn.ModuleList) for layer in part]
