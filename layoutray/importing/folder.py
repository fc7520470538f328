"""A folder as the transformers library writes it: config.json, weights under their authors' names, a vocabulary."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor

from layoutray import checkpoint, tokenizer
from layoutray import recipe as recipes
from layoutray.checkpoint import Checkpoint
from layoutray.config import override
from layoutray.errors import CheckpointError
from layoutray.nn.weight_names import NameTable
from layoutray.recipe import Recipe
from layoutray.tasks import TaskModel

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")

ENCODER = {
    "hidden_size": "hidden",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "feed_forward",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
}
"""Settings of BERT and of all that is built on it -> ours."""

COMPUTED = {"hidden_act": "gelu", "is_decoder": False, "position_embedding_type": "absolute"}
"""Their settings that our models know in one value only, which is also the library's own."""

_TABLES = {"type_vocab_size": "segments", "layer_norm_eps": "norm_epsilon", "max_position_embeddings": "max_length"}


def read_config(folder: Path) -> dict[str, Any]:
    """The settings in `config.json`. Raises CheckpointError where it is missing or no JSON object."""
    file = folder / CONFIG
    if not file.is_file():
        raise CheckpointError(f"no {CONFIG} in {folder}; give the folder of a released model")
    config = checkpoint.read_json(file)
    if not isinstance(config, dict):
        raise CheckpointError(f"{file} holds {type(config).__name__}, where a JSON object is needed")
    return cast(dict[str, Any], config)


def read_settings(
    file: Path, config: Mapping[str, Any], model: str, names: Mapping[str, str], fixed: Mapping[str, object]
) -> dict[str, Any]:
    """Settings in `config` under our names; `model` is what messages call it.

    Args:
        file: what `config` was read from.
        names: their settings -> ours; all of them have to be there.
        fixed: settings that `model` knows in one value only, which is also meant where they are not there.

    Raises:
        CheckpointError: when a setting is missing or has a value that `model` is not computed with.
    """
    if missing := names.keys() - config.keys():
        raise CheckpointError(f"{file} lacks {', '.join(sorted(missing))}, which every {model} says")
    for name, value in fixed.items():
        if config.get(name, value) != value:
            raise CheckpointError(f"{file} has {name} {config[name]!r}; {model} is computed with {value!r} alone")
    return {ours: config[theirs] for theirs, ours in names.items()}


def read_bert(folder: Path, config: Mapping[str, Any], model: str, fixed: Mapping[str, object]) -> dict[str, Any]:
    """Settings of a whole BERT or, where `config` has that `model_type`, RoBERTa, whose position table begins with rows up to the pad id.

    Raises:
        CheckpointError: as `read_settings`.
    """
    settings = read_settings(folder / CONFIG, config, model, ENCODER | _TABLES, {**COMPUTED, **fixed})
    if config["model_type"] != "roberta":
        return settings
    rows, pad_id = settings["max_length"], config.get("pad_token_id", 1)
    if not (isinstance(rows, int) and isinstance(pad_id, int)):
        raise CheckpointError(
            f"{folder / CONFIG} has max_position_embeddings {rows!r} and pad_token_id {pad_id!r}; both must be integers"
        )
    return settings | {"max_length": rows - pad_id - 1}


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Tensors under their authors' names. No code in a torch file is run.

    Raises:
        CheckpointError: when there are none, or the file holds anything but tensors by name.
    """
    found = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not found:
        raise CheckpointError(f"no weights in {folder}; it needs {' or '.join(WEIGHTS)}")
    return (
        checkpoint.read_tensors(found[0])
        if found[0].suffix == ".safetensors"
        else tensors_by_name(read_torch(found[0]), found[0])
    )


def read_torch(file: Path, plain: Sequence[type] = ()) -> Any:
    """What a torch file holds; no code in it is run.

    Args:
        plain: classes that it may hold besides tensors and plain data; their attributes are set, and nothing of them is called.

    Raises:
        CheckpointError: when it is damaged, or holds anything else.
    """
    try:
        with torch.serialization.safe_globals(list(plain)):
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of many kinds, and its message advises to run the code
        raise CheckpointError(
            f"{file} is not a torch file of plain tensors ({type(error).__name__}): it is damaged, or holds code, which is not run; "
            "save its weights as model.safetensors"
        ) from error


def tensors_by_name(read: object, file: Path) -> dict[str, Tensor]:
    """`read` of `file` as a state dict. Raises CheckpointError where it is none."""
    if not isinstance(read, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in read.items()
    ):
        raise CheckpointError(f"{file} holds something else than tensors by name; save the model's state_dict alone")
    return cast(dict[str, Tensor], read)


def read_labels(folder: Path, config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Names of `count` outputs: from `labels.json` if there is one, else `id2label` of `config` if it names so many, else numbers.

    Raises:
        CheckpointError: when `labels.json` is not a list of `count` different names.
    """
    file = folder / "labels.json"
    if file.is_file():
        given = checkpoint.read_json(file)
        if not _are_names(given, count):
            raise CheckpointError(
                f"{file} must be a list of {count} different names, one for each output of the classifier; got {given!r}"
            )
        return tuple(given)
    named = config.get("id2label")
    found = [named.get(str(number)) for number in range(len(named))] if isinstance(named, dict) else []
    return tuple(found) if _are_names(found, count) else tuple(f"label_{number}" for number in range(count))


def build_recipe(
    folder: Path, task: Mapping[str, Any], model: Mapping[str, Any], max_length: int, overrides: Sequence[str]
) -> Recipe:
    """The recipe of an imported `model` (a [model] section) for `task` (a [task] section) with `overrides`. Raises RecipeError."""
    values: dict[str, Any] = {
        "name": folder.absolute().name,
        "task": task,
        "model": model,
        "max_length": max_length,
        "train": {"steps": 1},  # nothing in the folder says how its model was trained
    }
    return recipes.from_dict(override(values, overrides))


def assemble(
    file: Path, config: Mapping[str, Any], recipe: Recipe, names: NameTable, weights: Mapping[str, Tensor]
) -> Checkpoint:
    """The checkpoint of `recipe` with `weights`, whose authors' names `names` has. Its provenance lists what they do not have.

    Args:
        file: what `config` was read from; the vocabulary is in the same folder.

    Raises:
        CheckpointError: when the vocabulary is missing or another one, or the weights do not fit; names what is missing and left over.
    """
    folder = file.parent
    vocabulary = tokenizer.load(folder)
    for key, size in (("vocab_size", vocabulary.vocab_size), ("pad_token_id", vocabulary.pad_id)):
        if config.get(key) != size:
            raise CheckpointError(f"{key} is {config.get(key)!r} in {file}, but {size} in the vocabulary beside it")
    classifier = (
        None if names.is_ours_only("head.classifier.weight") else weights.get(names.to_theirs("head.classifier.weight"))
    )
    labels = () if classifier is None else read_labels(folder, config, len(classifier))
    model = checkpoint.build_model(recipe, vocabulary, labels)
    fresh = _fill(model, weights, names, file)
    provenance = {
        "layoutray": importlib.metadata.version("layoutray"),
        "imported_from": str(folder.absolute()),
        "fresh": list(fresh),
    }
    return Checkpoint(recipe, labels, vocabulary, model.eval(), {}, provenance)


def _are_names(labels: object, count: int) -> TypeGuard[list[str]]:
    return (
        isinstance(labels, list)
        and all(isinstance(label, str) for label in labels)
        and len(set(labels)) == len(labels) == count
    )


def _fill(model: TaskModel, weights: Mapping[str, Tensor], names: NameTable, file: Path) -> tuple[str, ...]:
    """Returns names of the model's tensors that stay as they are."""
    own = {name: tensor for name, tensor in model.state_dict().items() if not names.is_ours_only(name)}
    given = {name: tensor for name, tensor in weights.items() if not names.is_dropped(name)}
    stored = checkpoint.unique_tensors(model)
    # A tensor that is tied to another one here may be stored there once or twice.
    expected = {
        names.to_theirs(name): tensor
        for name, tensor in own.items()
        if name in stored or names.to_theirs(name) in given
    }
    if problems := checkpoint.mismatch(given, expected):
        raise CheckpointError(f"the weights in {file.parent} do not fit the settings in {file.name}: {problems}")
    model.load_state_dict({names.to_ours(name): tensor for name, tensor in given.items()}, strict=False)
    if untied := [name for name, tensor in expected.items() if not torch.equal(tensor, given[name].to(tensor.dtype))]:
        raise CheckpointError(
            f"{checkpoint.listed(untied)} in {file.parent} is another tensor than the one it is tied to in our model"
        )
    return tuple(sorted(stored.keys() - own.keys()))
