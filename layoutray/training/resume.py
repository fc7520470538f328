"""The resumable state between two steps: weights, optimiser, step, best evaluation. Safetensors and JSON, no pickle.

Random numbers and the position in the data are not saved: both are functions of the step (see `feed`).
"""

import json
from collections.abc import Iterable, Mapping
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


@dataclass(kw_only=True)
class TrainingProgress:
    """How far a training has come.

    Attributes:
        step: optimiser steps done.
        best: value of the objective at the best evaluation; None before the first.
        worse: evaluations since the best one.
        evaluated: step of the last evaluation.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    evaluated: int = 0


def tensors(model: TaskModel, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Everything that a state keeps of model and optimiser."""
    return checkpoint.unique_tensors(model) | _flatten(optimizer)


def not_finite(tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Names of the tensors with a value that is NaN or infinite. Waits for their device."""
    return [name for name, tensor in tensors.items() if not tensor.isfinite().all()]


def save(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer, progress: TrainingProgress) -> None:
    """Write the state, which must be finite, into `folder`.

    A killed call leaves the earlier state: `progress.json` is written last, and then the earlier files are deleted.
    """
    model_file, optimizer_file = _names(progress)
    parts = {model_file: checkpoint.unique_tensors(model), optimizer_file: _flatten(optimizer)}
    _write(str(folder), {name: safetensors.torch.save(values) for name, values in parts.items()}, progress)


def exists(folder: str | Path) -> bool:
    """Whether `folder` holds a complete state."""
    return sources.exists(sources.join(folder, _PROGRESS))


def copy(source: str | Path, target: str | Path) -> None:
    """Copy the state in `source` to `target`, in the way of `save`; either may be an s3:// address.

    Raises:
        CheckpointError: if the state is not finite, as earlier versions could write it; `target` then stays as it is.
    """
    progress = _progress(source)
    files = {name: sources.read_bytes(sources.join(source, name)) for name in _names(progress)}
    _require_finite(source, map(safetensors.torch.load, files.values()))
    _write(str(target), files, progress)


def load(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer) -> TrainingProgress:
    """Load the state of `folder`. Raises CheckpointError if it does not fit, or is not finite."""
    progress = _progress(folder)
    model_file, optimizer_file = (folder / name for name in _names(progress))
    checkpoint.load_weights(model, model_file)
    flat = load_file(optimizer_file)
    _require_finite(folder, [model.state_dict(), flat])
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


def _require_finite(folder: str | Path, parts: Iterable[Mapping[str, torch.Tensor]]) -> None:
    if names := [name for part in parts for name in not_finite(part)]:
        raise CheckpointError(
            f"{folder} holds a state with values that are not finite, in {checkpoint.listed(names)}; "
            "delete this folder: the training then starts again"
        )


def _names(progress: TrainingProgress) -> tuple[str, str]:
    return f"model-{progress.step}.safetensors", f"optimizer-{progress.step}.safetensors"


def _progress(folder: str | Path) -> TrainingProgress:
    values = json.loads(sources.read_bytes(sources.join(folder, _PROGRESS)))
    values["best"] = None if values["best"] is None else float(values["best"])
    values.setdefault("evaluated", values["step"])  # states without this key were saved after evaluation
    return TrainingProgress(**values)


def _write(folder: str, files: Mapping[str, bytes], progress: TrainingProgress) -> None:
    for name, data in files.items():
        shards.write_bytes(data, folder, name)
    shards.write_bytes(json_text.dumps(asdict(progress)).encode(), folder, _PROGRESS)
    shards.remove(uri for uri in sources.list_files(folder) if uri.rpartition("/")[2] not in (_PROGRESS, *files))


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    return {
        f"{index}.{name}": tensor.contiguous()
        for index, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }
