"""A folder as the transformers library writes it: config.json, weights under their authors' names, a vocabulary."""

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor

from layoutray import checkpoint, tokenizer
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.nn.names import NameTable
from layoutray.recipe import Recipe
from layoutray.tasks import TaskModel

WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def read_config(folder: Path) -> dict[str, Any]:
    """The settings in `config.json`. Raises CheckpointError where it is missing or no JSON object."""
    file = folder / "config.json"
    if not file.is_file():
        raise CheckpointError(f"no config.json in {folder}; give the folder of a released model")
    config = checkpoint.read_json(file)
    if not isinstance(config, dict):
        raise CheckpointError(f"{file} holds {type(config).__name__}, where a JSON object is needed")
    return cast(dict[str, Any], config)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Tensors under their authors' names. No code in a torch file is run.

    Raises:
        CheckpointError: when there are none, or the file holds anything but tensors by name.
    """
    found = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not found:
        raise CheckpointError(f"no weights in {folder}; it needs {' or '.join(WEIGHTS)}")
    return checkpoint.read_tensors(found[0]) if found[0].suffix == ".safetensors" else _read_torch(found[0])


def read_labels(folder: Path, config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Names of `count` outputs: from `labels.json` if there is one, else `id2label` of `config` if it names so many, else numbers.

    Raises:
        CheckpointError: when `labels.json` is not a list of `count` different names.
    """
    file = folder / "labels.json"
    if file.is_file():
        given = checkpoint.read_json(file)
        if not _are_names(given, count):
            raise CheckpointError(f"{file} must be a list of {count} different names, one for each output of the classifier; got {given!r}")
        return tuple(given)
    named = config.get("id2label")
    found = [named.get(str(number)) for number in range(len(named))] if isinstance(named, dict) else []
    return tuple(found) if _are_names(found, count) else tuple(f"label_{number}" for number in range(count))


def assemble(folder: Path, config: Mapping[str, Any], recipe: Recipe, names: NameTable, weights: Mapping[str, Tensor]) -> Checkpoint:
    """The checkpoint of `recipe` with `weights`, whose authors' names `names` has.

    Raises:
        CheckpointError: when the vocabulary is missing or another one, or the weights do not fit; names what is missing and left over.
    """
    vocabulary = tokenizer.load(folder)
    for key, size in (("vocab_size", vocabulary.vocab_size), ("pad_token_id", vocabulary.pad_id)):
        if config.get(key) != size:
            raise CheckpointError(f"{key} is {config.get(key)!r} in {folder / 'config.json'}, but {size} in the vocabulary beside it")
    classifier = weights.get(names.to_theirs("head.classifier.weight"))
    labels = () if classifier is None else read_labels(folder, config, len(classifier))
    model = checkpoint.build_model(recipe, vocabulary, labels)
    _fill(model, weights, names, folder)
    provenance = {"layoutray": importlib.metadata.version("layoutray"), "imported_from": str(folder.absolute())}
    return Checkpoint(recipe, labels, vocabulary, model.eval(), {}, provenance)


def _are_names(labels: object, count: int) -> TypeGuard[list[str]]:
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels) and len(set(labels)) == len(labels) == count


def _fill(model: TaskModel, weights: Mapping[str, Tensor], names: NameTable, folder: Path) -> None:
    own = model.state_dict()
    given = {name: tensor for name, tensor in weights.items() if not names.is_dropped(name)}
    stored = checkpoint.unique_tensors(model)
    # A tensor that is tied to another one here may be stored there once or twice.
    expected = {names.to_theirs(name): tensor for name, tensor in own.items() if name in stored or names.to_theirs(name) in given}
    if problems := checkpoint.misfits(given, expected):
        raise CheckpointError(f"the weights in {folder} do not fit its config.json: {problems}")
    model.load_state_dict({names.to_ours(name): tensor for name, tensor in given.items()}, strict=False)
    if untied := [name for name, tensor in expected.items() if not torch.equal(tensor, given[name].to(tensor.dtype))]:
        raise CheckpointError(f"{checkpoint.listed(untied)} in {folder} is another tensor than the one it is tied to in our model")


def _read_torch(file: Path) -> dict[str, Tensor]:
    try:
        read: Any = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of many kinds, and its message advises to run the code
        raise CheckpointError(
            f"{file} is not a torch file of plain tensors ({type(error).__name__}): it is damaged, or holds code, which is not run; "
            "save its weights as model.safetensors"
        ) from error
    if not isinstance(read, dict) or not all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in read.items()):
        raise CheckpointError(f"{file} holds something else than tensors by name; save the model's state_dict alone")
    return cast(dict[str, Tensor], read)
