"""The start: the trained checkpoint that this package brings, for trainings with few labels.

Wherever a checkpoint is named, `start` means it. `layoutray/start/checkpoint/README.md` says what it was trained on.
Its matrices are stored as 8-bit integers (see `layoutray.checkpoint.read_tensors`).
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from layoutray.errors import CheckpointError
from layoutray.recipe.recipes import Recipe

NAME = "start"
FOLDER = Path(__file__).parent / "checkpoint"


def resolved() -> str:
    """The start under a name that always means the same weights, also in another version of this package."""
    return f"{NAME}:{_digest()}"


def is_resolved(name: str) -> bool:
    """Whether `name` is a result of `resolved`, of this or of another version of this package."""
    return name.startswith(f"{NAME}:")


def folder_of(name: str) -> str:
    """The folder of the start that `resolved` has called `name`.

    Raises:
        CheckpointError: if this version of the package brings another one.
    """
    if name != resolved():
        raise CheckpointError(
            f"this version of layoutray brings the checkpoint {resolved()}, not {name}; "
            "install the version that began the job, or give another --out"
        )
    return str(FOLDER)


def fits(recipe: Recipe, vocabulary: bytes) -> bool:
    """Whether a model of `recipe` has the architecture, sizes and vocabulary (tokenizer.json) of the start."""
    stored = cast(dict[str, Any], json.loads((FOLDER / "recipe.json").read_bytes()))["model"]
    ours = recipe.to_dict()["model"]
    sizes = [name for name in ours if "dropout" not in name]
    return all(stored.get(name) == ours[name] for name in sizes) and vocabulary == (
        (FOLDER / "tokenizer.json").read_bytes()
    )


@cache
def _digest() -> str:
    return hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()[:12]
