"""Checkpoints: a folder with everything that a model needs. No file can run code when it is loaded.

docs/models.md lists the files. The matrices of `model.safetensors` may be 8-bit integers, see `read_tensors`.
"""

import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import safetensors
import safetensors.torch
import torch
from safetensors.torch import load_file

from layoutray import architectures, tokenizer, weight_shapes
from layoutray.document.word_source import WordSource
from layoutray.errors import CheckpointError, DocumentError, Reason, RecipeError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import folder_kind, json_text, shards, sources
from layoutray.tasks import TaskModel, document_fields_of
from layoutray.tensors import Encoder
from layoutray.tokenizer import Tokenizer

Fetch = Callable[[str], str]
"""Gives the folder or address at which the calling process can read the checkpoint that a name means."""

_WEIGHTS = "model.safetensors"
REQUIRED = ("recipe.json", "labels.json", _WEIGHTS, "tokenizer.json", "metrics.json", "provenance.json")
EXAMPLE = "example.json"
FILES = (*REQUIRED, "calibration.json")
_MOST_BYTES = 2**26
"""Of each file but the weights, whose size is compared with the free memory before they are loaded. What JSON makes of
a file may take 25 times as much memory."""
_FIRST, _LAST = "metrics.json", "recipe.json"
"""Written first and last. Checkpoints of one training differ in their metrics, because the step is one of them."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model with its recipe, vocabulary and metrics. A loaded model is on the CPU, in evaluation mode.

    Attributes:
        labels: names of the outputs, in order; empty for tasks without labels.
        metrics: those of the evaluation at which the model was saved.
        provenance: data, code version and starting checkpoints of the model.
        version: hash of everything that changes answers; empty for a checkpoint that was not loaded from disk.
        temperature: logits are divided by it before they become probabilities; fitted on dev.
    """

    recipe: Recipe
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    model: TaskModel
    metrics: dict[str, float]
    provenance: dict[str, Any]
    version: str = ""
    temperature: float = 1.0

    @property
    def learnt(self) -> tuple[WordSource, ...]:
        """How the words were made of which the model has learnt; empty if nothing says it."""
        return tuple(WordSource(**one) for one in self.provenance.get("words", ()))

    def thresholds(self, label: str = "") -> dict[str, dict[str, float | None]]:
        """The thresholds of versions with the same confidences, by version and field; those of this one are the last.

        Args:
            label: of this version in a registry; empty if there is none.
        """
        own = {name: field.accept_from for name, field in document_fields_of(self.recipe.task).items()}
        versions = dict.fromkeys(filter(None, (self.version, label)), own)
        former = self.provenance.get("thresholds", {})
        return {version: one for version, one in former.items() if version not in versions} | versions


def build_model(recipe: Recipe, vocabulary: Tokenizer, labels: Sequence[str]) -> TaskModel:
    """A fresh model of `recipe`. Its weights depend on the recipe's seed only."""
    architecture = architectures.load(recipe.arch)
    arch_config = recipe.arch_config
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        encoder = architecture.build(arch_config, vocab_size=vocabulary.vocab_size, pad_id=vocabulary.pad_id)
        head = recipe.task.head(cast(Encoder, encoder), len(labels), arch_config.dropout)
        architecture.initialise(head, cast(Encoder, encoder).width)
    return TaskModel(encoder, head)


def save(folder: str | Path, checkpoint: Checkpoint, *, eight_bits: bool = False) -> None:
    """Write a checkpoint into `folder`, which is created if missing. Its version follows from the weights.

    A process that reads `folder` meanwhile finds the previous checkpoint, the new one or, for a moment, none.

    Args:
        eight_bits: store matrices in a quarter of the space, each weight to 1/254 of the largest one of its row.
    """
    tensors = unique_tensors(checkpoint.model)
    contents = {
        _FIRST: _json(checkpoint.metrics),
        "labels.json": _json(list(checkpoint.labels)),
        "provenance.json": _json(checkpoint.provenance),
        "calibration.json": _json({"temperature": checkpoint.temperature}),
        "tokenizer.json": checkpoint.tokenizer.inner.to_str(pretty=True).encode(),
        _WEIGHTS: safetensors.torch.save(_in_eight_bits(tensors) if eight_bits else tensors),
        _LAST: _json(checkpoint.recipe.to_dict()),
    }
    shards.write_together(contents, str(folder))


def remove_weights(folder: str | Path) -> None:
    """Delete the weights of a checkpoint, if they exist: what it was made of stays."""
    shards.remove([sources.join(folder, _WEIGHTS)])


def copy_example(source: str | Path, folder: str | Path) -> None:
    """Copy the example of a checkpoint, if it has one, to another of the same architecture and task."""
    if (example := read_example(source)) is not None:
        shards.write_bytes(example, str(folder), EXAMPLE)


def read_example(folder: str | Path) -> bytes | None:
    """The example of a checkpoint; None if it has none. Raises CheckpointError when it cannot be read."""
    return _read(folder, EXAMPLE)


def load(folder: str | Path) -> Checkpoint:
    """The checkpoint in `folder`. A checkpoint in an object store is copied to a temporary folder while it is loaded.

    Raises:
        CheckpointError: when a file is missing or invalid, or when the weights do not fit the recipe's model; the
            message names the tensors.
    """
    # Training may replace the checkpoint meanwhile. If its first file has changed at the end, the files that were read
    # belong to different checkpoints.
    while True:
        first = _read(folder, _FIRST)
        with local_copy(folder) as local:
            loaded = _load(local)
        if _read(folder, _FIRST) == first:
            return loaded


@contextmanager
def local_copy(folder: str | Path) -> Generator[Path]:
    """A local folder with the checkpoint in `folder`: `folder` itself, or a temporary copy of an object store's folder.

    Raises:
        CheckpointError: when it cannot be copied. A CheckpointError of the block is raised again with the address in
            place of the temporary folder.
    """
    address = str(folder)
    local = sources.local_path(address)
    if local is not None:
        yield local
        return
    with tempfile.TemporaryDirectory() as copy:
        for name in (*FILES, EXAMPLE):
            if (data := _read(address, name)) is not None:
                Path(copy, name).write_bytes(data)
        try:
            yield Path(copy)
        except CheckpointError as error:
            raise CheckpointError(str(error).replace(copy, address)) from error


def read_vocabulary(folder: str | Path) -> Tokenizer:
    """The tokenizer of a folder of examples or of a checkpoint, also of an address. Raises as `tokenizer.load`."""
    local = sources.local_path(str(folder))
    if local is not None:
        return tokenizer.load(local)
    file = sources.join(folder, "tokenizer.json")
    try:
        return tokenizer.parse(sources.read_bytes(file).decode(), file)
    except DocumentError as error:
        raise CheckpointError(f"no tokenizer.json at {folder}: {error}") from error


def _read(folder: str | Path, name: str) -> bytes | None:
    """The content of a checkpoint's file; None if it does not exist."""
    try:
        return sources.read_bytes(sources.join(folder, name), None if name == _WEIGHTS else _MOST_BYTES)
    except DocumentError as error:
        if error.reason is not Reason.NOT_FOUND:
            raise CheckpointError(str(error)) from error
        return None


def _load(folder: Path) -> Checkpoint:
    missing = [name for name in REQUIRED if not (folder / name).is_file()]
    if missing:
        found = folder_kind.found_at(str(folder))
        if found in ("", f"it is {folder_kind.CHECKPOINT}"):
            found = f"{', '.join(missing)} missing"
        raise CheckpointError(
            f"{folder} is not a checkpoint: {found}; give a folder that `layoutray finetune` has written, or "
            f"models:/{folder.name}@champion for a registered model"
        )
    for name in FILES:
        if name != _WEIGHTS and (folder / name).is_file() and (size := (folder / name).stat().st_size) > _MOST_BYTES:
            raise CheckpointError(f"{folder / name} has {size} bytes; at most {_MOST_BYTES} are allowed")
    values = read_json(folder / "recipe.json")
    if not isinstance(values, dict):
        raise CheckpointError(f"{folder / 'recipe.json'} must contain a JSON object, not {values!r:.100}")
    try:
        recipe = recipes.from_stored(cast(dict[str, Any], values))
    except RecipeError as error:
        raise CheckpointError(
            f"{folder / 'recipe.json'} is not a recipe that this version can read: {error}"
        ) from error
    vocabulary = tokenizer.load(folder)
    labels = tuple(read_json(folder / "labels.json"))
    weights = weight_shapes.of_file(folder / _WEIGHTS)
    build = partial(build_model, recipe, vocabulary, labels)
    if problems := mismatch(weights, weight_shapes.of_model(build, len(weights))):
        raise CheckpointError(f"{folder / _WEIGHTS} does not fit the model of its recipe: {problems}")
    with weight_shapes.NoRandomValues():
        model = build()
    load_weights(model, folder / _WEIGHTS)
    metrics = {name: float(value) for name, value in read_json(folder / "metrics.json").items()}
    provenance = read_json(folder / "provenance.json")
    calibration = folder / "calibration.json"
    match read_json(calibration) if calibration.is_file() else {"temperature": 1.0}:
        case {"temperature": float() | int() as temperature} if 0 < temperature < math.inf:
            pass
        case other:
            raise CheckpointError(
                f"{calibration} contains {other!r:.100}; it must be an object with a temperature, a number above 0"
            )
    version = _version(folder, recipe)
    return Checkpoint(
        recipe=recipe,
        labels=labels,
        tokenizer=vocabulary,
        model=model.eval(),
        metrics=metrics,
        provenance=provenance,
        version=version,
        temperature=float(temperature),
    )


def _version(folder: Path, recipe: Recipe) -> str:
    """Hash of all that changes answers: weights, vocabulary, labels, temperature, task and model settings."""
    digest = hashlib.sha256()
    for name in (_WEIGHTS, "tokenizer.json", "labels.json", "calibration.json"):
        data = (folder / name).read_bytes() if (folder / name).is_file() else b""
        digest.update(hashlib.sha256(data).digest())
    values = recipe.to_dict()
    digest.update(_json({name: values[name] for name in ("task", "model", "max_length")}))
    return digest.hexdigest()[:12]


def load_weights(model: TaskModel, file: Path) -> None:
    """Load the weights in `file` into `model`. Raises CheckpointError unless every tensor fits."""
    weights = read_tensors(file)
    if problems := mismatch(weights, unique_tensors(model)):
        raise CheckpointError(f"{file} does not fit the model of its recipe: {problems}")
    model.load_state_dict(weights, strict=False)  # tied tensors are stored once; all others were checked above


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file. Raises CheckpointError for any other file.

    A matrix (rows, columns) of 8-bit integers becomes one of floats: each row is multiplied by its scale, which is a
    member of the tensor (rows, 1) of the same name with the ending `.scale`.
    """
    try:
        stored = load_file(file)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is not a readable safetensors file: {error}") from error
    for name in [name for name, tensor in stored.items() if tensor.dtype is torch.int8]:
        if f"{name}{weight_shapes.SCALE}" not in stored:
            raise CheckpointError(
                f"{file} has {name} as 8-bit integers without their scales, {name}{weight_shapes.SCALE}"
            )
        stored[name] = stored[name] * stored.pop(f"{name}{weight_shapes.SCALE}")
    return stored


def _in_eight_bits(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """`tensors` with each matrix as `read_tensors` describes."""
    stored: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        stored[name] = tensor
        if tensor.ndim == 2:
            scale = tensor.abs().amax(1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny) / 127
            stored[name], stored[f"{name}{weight_shapes.SCALE}"] = (tensor / scale).round().to(torch.int8), scale
    return stored


def read_json(file: Path) -> Any:
    """The content of a JSON file. Raises CheckpointError when it is missing or not valid JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{file} is not valid JSON: {error}") from error
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error


def mismatch(given: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> str:
    """How `given` tensors differ from the `expected` ones: missing and unexpected names, other shapes; empty if not."""
    shapes = [
        f"{name} is {tuple(given[name].shape)}, the model needs {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in given and given[name].shape != tensor.shape
    ]
    problems = {"missing ": expected.keys() - given.keys(), "unexpected ": given.keys() - expected.keys(), "": shapes}
    return "; ".join(f"{kind}{listed(names)}" for kind, names in problems.items() if names)


def listed(names: Iterable[str], limit: int = 8) -> str:
    """The first `limit` of the sorted `names`, and the number of the others."""
    ordered = sorted(names)
    more = f" and {len(ordered) - limit} more" if len(ordered) > limit else ""
    return ", ".join(ordered[:limit]) + more


def unique_tensors(model: TaskModel) -> dict[str, torch.Tensor]:
    """Tensors by name. Tensors that share memory are listed under their first name only, as safetensors requires."""
    seen: set[int] = set()
    unique: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            unique[name] = tensor.contiguous()
    return unique


def _json(content: Any) -> bytes:
    return (json_text.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
