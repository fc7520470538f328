"""The resumable state between two steps: weights, optimiser, step, best evaluation. Safetensors and JSON, no pickle.

Random numbers and the position in the data are not saved: both are functions of the step (see `feed`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors.torch import load_file

from layoutray import checkpoint
from layoutray.errors import CheckpointError
from layoutray.store import json_text, shards, sources
from layoutray.tasks import TaskModel

_PROGRESS = "progress.json"


@dataclass
class Progress:
    """How far a training has come.

    Attributes:
        step: optimiser steps done.
        best: value of the objective at the best evaluation; None before the first.
        best_step: its step.
        worse: evaluations since the best one.
        evaluated: step of the last evaluation.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    evaluated: int = 0


def save(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write the state into `folder`. A killed call leaves the earlier state: `progress.json` is written last."""
    model_file, optimizer_file = _names(progress)
    tensors = {model_file: checkpoint.unique_tensors(model), optimizer_file: _flatten(optimizer)}
    _write(str(folder), {name: safetensors.torch.save(values) for name, values in tensors.items()}, progress)


def exists(folder: str | Path) -> bool:
    """Whether `folder` holds a complete state."""
    return sources.exists(sources.join(folder, _PROGRESS))


def copy(source: str | Path, target: str | Path) -> None:
    """Copy the state in `source` to `target`, in the way of `save`; either may be an s3:// address."""
    progress = _progress(source)
    _write(str(target), {name: sources.read_bytes(sources.join(source, name)) for name in _names(progress)}, progress)


def load(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer) -> Progress:
    """Load the state of `folder` into `model` and `optimizer`. Raises CheckpointError if it does not fit."""
    progress = _progress(folder)
    model_file, optimizer_file = (folder / name for name in _names(progress))
    checkpoint.load_weights(model, model_file)
    flat = load_file(optimizer_file)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in flat.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    if state and max(state) >= len(parameters):
        raise CheckpointError(
            f"{folder} holds an optimiser state of {max(state) + 1} parameters, the model has {len(parameters)}; "
            "resume with the same recipe"
        )
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return progress


def _names(progress: Progress) -> tuple[str, str]:
    return f"model-{progress.step}.safetensors", f"optimizer-{progress.step}.safetensors"


def _progress(folder: str | Path) -> Progress:
    values = json.loads(sources.read_bytes(sources.join(folder, _PROGRESS)))
    values["best"] = None if values["best"] is None else float(values["best"])
    return Progress(**{"evaluated": values["step"], **values})  # states without this key were saved after evaluation


def _write(folder: str, tensors: Mapping[str, bytes], progress: Progress) -> None:
    for name, data in tensors.items():
        shards.write_bytes(data, folder, name)
    shards.write_bytes(json_text.dumps(asdict(progress)).encode(), folder, _PROGRESS)
    shards.remove(uri for uri in sources.list_files(folder) if uri.rpartition("/")[2] not in (_PROGRESS, *tensors))


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    return {
        f"{index}.{name}": tensor.contiguous()
        for index, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }
