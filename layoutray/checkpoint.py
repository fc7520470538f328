"""Checkpoints: a folder with all that a model needs, and nothing that could run code.

recipe.json         the resolved training recipe; written last: without it, the others are of no use
labels.json         names of the outputs, in order
model.safetensors   weights
tokenizer.json      vocabulary
metrics.json        what was measured when it was saved
provenance.json     data, code version and parents it came from
calibration.json    the temperature of its probabilities; 1 where this file is not there
"""

import hashlib
import json
import math
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import safetensors
import safetensors.torch
import torch
from safetensors.torch import load_file

from layoutray import architectures, tasks, tokenizer
from layoutray import recipe as recipes
from layoutray.errors import CheckpointError, DocumentError, Reason, RecipeError
from layoutray.recipe import Recipe
from layoutray.store import shards, sources
from layoutray.tasks import TaskModel
from layoutray.tensors import Encoder
from layoutray.tokenizer import Tokenizer

REQUIRED = ("recipe.json", "labels.json", "model.safetensors", "tokenizer.json", "metrics.json", "provenance.json")
FILES = (*REQUIRED, "calibration.json")
_FIRST, _LAST = "metrics.json", "recipe.json"
"""Written first and last. No two checkpoints of one training have the same metrics: the step is one of them."""


@dataclass(frozen=True)
class Checkpoint:
    """A model and all that belongs to it. Loaded ones are on the CPU, in evaluation mode.

    Attributes:
        labels: names of the outputs, in order; empty for tasks without.
        metrics: what was measured when it was saved.
        provenance: data, code version and parents it came from.
        version: hash of weights and answer settings: changes with either; empty before it is loaded from disk.
        temperature: what logits are divided by before they become probabilities, fitted on dev.
    """

    recipe: Recipe
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    model: TaskModel
    metrics: dict[str, float]
    provenance: dict[str, Any]
    version: str = ""
    temperature: float = 1.0


def build_model(recipe: Recipe, vocabulary: Tokenizer, labels: Sequence[str]) -> TaskModel:
    """A fresh model of `recipe`, its weights drawn from the recipe's seed alone."""
    architecture = architectures.load(recipe.arch)
    arch_config = recipe.arch_config
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        encoder = architecture.build(arch_config, vocab_size=vocabulary.vocab_size, pad_id=vocabulary.pad_id)
        head = tasks.load(recipe.task.name).head(
            cast(Encoder, encoder), len(labels), arch_config.dropout, recipe.task.writing
        )
        architecture.initialise(head, cast(Encoder, encoder).width)
    return TaskModel(encoder, head)


def save(folder: str | Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint into `folder` (made when missing); its version follows from the weights and is not written.

    A reader finds the checkpoint of before, the new one, or, for a moment, none.
    """
    contents = {
        _FIRST: _json(checkpoint.metrics),
        "labels.json": _json(list(checkpoint.labels)),
        "provenance.json": _json(checkpoint.provenance),
        "calibration.json": _json({"temperature": checkpoint.temperature}),
        "tokenizer.json": checkpoint.tokenizer.inner.to_str(pretty=True).encode(),
        "model.safetensors": safetensors.torch.save(unique_tensors(checkpoint.model)),
        _LAST: _json(checkpoint.recipe.to_dict()),
    }
    shards.write_together(contents, str(folder))


def load(folder: str | Path) -> Checkpoint:
    """The checkpoint in `folder`; one at the address of an object store is copied to a temporary folder for as long as that takes.

    Raises:
        CheckpointError: when a file is missing or wrong, or the weights do not fit the recipe's model (names the tensors).
    """
    # Training may write a better one meanwhile: unless the first file is the same at the end, the others are of several.
    while True:
        first = _read(folder, _FIRST)
        with local_copy(folder) as where:
            loaded = _load(where)
        if _read(folder, _FIRST) == first:
            return loaded


@contextmanager
def local_copy(folder: str | Path) -> Generator[Path]:
    """The checkpoint in `folder` on this machine's disks: the folder itself, or a copy of what lies at an address while the block runs.

    Raises:
        CheckpointError: when it cannot be copied; one that the block raises names the address.
    """
    address = str(folder)
    local = sources.local_path(address)
    if local is not None:
        yield local
        return
    with tempfile.TemporaryDirectory() as copy:
        _fetch(address, Path(copy))
        try:
            yield Path(copy)
        except CheckpointError as error:
            raise CheckpointError(str(error).replace(copy, address)) from error


def read_vocabulary(folder: str | Path) -> Tokenizer:
    """The tokenizer of a folder of examples or a checkpoint, on disks or at an address.

    Raises:
        CheckpointError: as `tokenizer.load`.
    """
    local = sources.local_path(str(folder))
    if local is not None:
        return tokenizer.load(local)
    file = sources.join(folder, "tokenizer.json")
    try:
        return tokenizer.parse(sources.read_bytes(file).decode(), file)
    except DocumentError as error:
        raise CheckpointError(f"no tokenizer.json at {folder}: {error}") from error


def _fetch(address: str, folder: Path) -> None:
    """Copy into `folder` what there is of a checkpoint."""
    for name in FILES:
        if (data := _read(address, name)) is not None:
            (folder / name).write_bytes(data)


def _read(folder: str | Path, name: str) -> bytes | None:
    """A file of a checkpoint; None where it is not there."""
    try:
        return sources.read_bytes(sources.join(folder, name))
    except DocumentError as error:
        if error.reason is not Reason.NOT_FOUND:
            raise CheckpointError(str(error)) from error
        return None


def _load(where: Path) -> Checkpoint:
    missing = [name for name in REQUIRED if not (where / name).is_file()]
    if missing:
        raise CheckpointError(
            f"{where} is not a checkpoint: {', '.join(missing)} missing; a checkpoint has {', '.join(REQUIRED)}"
        )
    recipe = _recipe(where / "recipe.json")
    vocabulary = tokenizer.load(where)
    labels = tuple(read_json(where / "labels.json"))
    model = build_model(recipe, vocabulary, labels)
    load_weights(model, where / "model.safetensors")
    metrics, provenance = read_json(where / "metrics.json"), read_json(where / "provenance.json")
    temperature = _temperature(where / "calibration.json")
    version = _version(where, recipe)
    return Checkpoint(recipe, labels, vocabulary, model.eval(), metrics, provenance, version, temperature)


def _version(where: Path, recipe: Recipe) -> str:
    """Hash of everything that changes answers: weights, vocabulary, labels, temperature and the recipe's settings for answers."""
    digest = hashlib.sha256()
    for name in ("model.safetensors", "tokenizer.json", "labels.json", "calibration.json"):
        data = (where / name).read_bytes() if (where / name).is_file() else b""
        digest.update(hashlib.sha256(data).digest())
    values = recipe.to_dict()
    digest.update(_json({name: values[name] for name in ("task", "model", "max_length")}))
    return digest.hexdigest()[:12]


def load_weights(model: TaskModel, file: Path) -> None:
    """Put the weights of `file` into `model`. Raises CheckpointError unless every tensor fits."""
    weights = read_tensors(file)
    if problems := mismatch(weights, unique_tensors(model)):
        raise CheckpointError(f"{file} does not fit the model of its recipe: {problems}")
    model.load_state_dict(weights, strict=False)  # tied tensors are stored once; all others were checked above


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file. Raises CheckpointError where it is none."""
    try:
        return load_file(file)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is not a readable safetensors file: {error}") from error


def read_json(file: Path) -> Any:
    """What a JSON file says. Raises CheckpointError where it is none, or not there."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{file} is not valid JSON: {error}") from error
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error


def mismatch(given: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> str:
    """What keeps `given` tensors from being the `expected` ones: names that are missing or unexpected, other shapes; empty if nothing."""
    shapes = [
        f"{name} is {tuple(given[name].shape)}, the model needs {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in given and given[name].shape != tensor.shape
    ]
    found = {"missing ": expected.keys() - given.keys(), "unexpected ": given.keys() - expected.keys(), "": shapes}
    return "; ".join(f"{kind}{listed(names)}" for kind, names in found.items() if names)


def listed(names: Iterable[str], limit: int = 8) -> str:
    """The first few of `names` in order, and how many more there are."""
    ordered = sorted(names)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(ordered[:limit]) + more


def unique_tensors(model: TaskModel) -> dict[str, torch.Tensor]:
    """Tensors by name, those that share memory under their first name only, as safetensors demands."""
    seen: set[int] = set()
    unique: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            unique[name] = tensor.contiguous()
    return unique


def _recipe(file: Path) -> Recipe:
    try:
        return recipes.from_dict(read_json(file))
    except RecipeError as error:
        raise CheckpointError(f"{file} is no recipe of this version: {error}") from error


def _temperature(file: Path) -> float:
    if not file.is_file():
        return 1.0
    match read_json(file):
        case {"temperature": float() | int() as temperature} if 0 < temperature < math.inf:
            return float(temperature)
        case other:
            raise CheckpointError(
                f"{file} says {other!r:.100}; it must be an object with a temperature, a number above 0"
            )


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
