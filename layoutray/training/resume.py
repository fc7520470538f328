"""The state between two steps: weights, optimiser, step, and the best evaluation so far. Safetensors and JSON, no pickle.

Random numbers and the data position need no saving: both are functions of the step (see `feed`).
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from layoutray import checkpoint
from layoutray.errors import CheckpointError
from layoutray.tasks import TaskModel

_PROGRESS = "progress.json"


@dataclass
class Progress:
    """How far training is.

    Attributes:
        step: optimiser steps done.
        best: value of the objective at the best evaluation; None before the first.
        best_step: its step.
        worse: evaluations since then.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0


def save(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write the state into `folder`. Whoever is killed on the way leaves the state of before: `progress.json` switches over."""
    folder.mkdir(parents=True, exist_ok=True)
    model_file, optimizer_file = _files(folder, progress)
    save_file(checkpoint.unique_tensors(model), model_file)
    save_file(_flatten(optimizer), optimizer_file)
    switch = folder / "progress.json.part"
    switch.write_text(json.dumps(asdict(progress)), encoding="utf-8")
    switch.replace(folder / _PROGRESS)
    for old in set(folder.glob("*.safetensors")) - {model_file, optimizer_file}:
        old.unlink()


def exists(folder: Path) -> bool:
    """Whether `folder` holds a complete state."""
    return (folder / _PROGRESS).is_file()


def load(folder: Path, model: TaskModel, optimizer: torch.optim.Optimizer) -> Progress:
    """Put the state of `folder` into `model` and `optimizer`. Raises CheckpointError when it does not fit."""
    progress = Progress(**json.loads((folder / _PROGRESS).read_text(encoding="utf-8")))
    model_file, optimizer_file = _files(folder, progress)
    checkpoint.load_weights(model, model_file)
    flat = load_file(optimizer_file)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, tensor in flat.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    if state and max(state) >= len(parameters):
        raise CheckpointError(
            f"{folder} holds an optimiser of {max(state) + 1} parameters, the model has {len(parameters)}; resume with the same recipe"
        )
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return progress


def _files(folder: Path, progress: Progress) -> tuple[Path, Path]:
    return folder / f"model-{progress.step}.safetensors", folder / f"optimizer-{progress.step}.safetensors"


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    return {
        f"{index}.{name}": tensor.contiguous()
        for index, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }
