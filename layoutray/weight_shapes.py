"""The tensors of a file of weights and those of a model, by name, before memory is taken for either.

Both are on PyTorch's `meta` device: they have shapes and no content.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from layoutray.errors import CheckpointError

SCALE = ".scale"
"""Ending of the name of a tensor with the scales of a matrix of 8-bit integers."""
_MOST_BUFFERS = 2**26
"""Members of what a model computes from its settings and does not store, such as tables of positions."""


def of_file(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, without scales. Raises CheckpointError for any other file."""
    try:
        with safe_open(file, "pt") as stored:
            slices = {name: stored.get_slice(name) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is not a readable safetensors file: {error}") from error
    scales = {f"{name}{SCALE}" for name, one in slices.items() if one.get_dtype() == "I8"}
    return {name: torch.empty(one.get_shape(), device="meta") for name, one in slices.items() if name not in scales}


def of_model(build: Callable[[], torch.nn.Module], num_stored: int) -> dict[str, torch.Tensor]:
    """The tensors of the model that `build` makes; those that share memory under their first name only.

    Args:
        num_stored: tensors that the file of its weights has. A model of many more is not built to its end.

    Raises:
        CheckpointError: when it has too many parameters, or would compute too large tables.
    """
    made, thread = 0, threading.get_ident()

    def count(*_: object) -> None:
        nonlocal made
        made += threading.get_ident() == thread
        if made > 2 * num_stored + 16:  # some share memory and are stored once
            raise CheckpointError(
                f"the model of the recipe has more than {made - 1} parameters, and the file has {num_stored} tensors"
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"), NoRandomValues():
            model = build()
    finally:
        hook.remove()
    if (members := sum(buffer.numel() for buffer in model.buffers())) > _MOST_BUFFERS:
        raise CheckpointError(f"the model of the recipe computes tables of {members} numbers; at most {_MOST_BUFFERS}")
    seen: set[int] = set()
    found: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor
    return found


class NoRandomValues(TorchFunctionMode):
    """Leaves tensors as they are where they would get random values, while a model is built whose weights are known.

    For random values on the `meta` device, PyTorch imports its compiler, which takes 1.5 s.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func.__name__.endswith(("normal_", "uniform_")):  # methods, and functions of torch.nn.init
            return args[0] if args else given["tensor"]
        return func(*args, **given)
