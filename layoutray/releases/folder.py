"""Reading a model folder of the transformers library: config.json, weights under the authors' names, a vocabulary."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor

from layoutray import checkpoint, tokenizer
from layoutray.checkpoint import Checkpoint
from layoutray.config import override
from layoutray.errors import CheckpointError
from layoutray.nn.weight_names import NameTable
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.tasks import TaskModel
from layoutray.version import VERSION

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
"""Settings of BERT and of models built on it -> ours."""

_LIKE_ROBERTA = ("roberta", "lilt", "longformer", "layoutlmv3")

COMPUTED = {"hidden_act": "gelu", "is_decoder": False, "position_embedding_type": "absolute"}
"""Settings of theirs for which our models support only one value: the library's default."""

_TABLES = {"type_vocab_size": "segments", "layer_norm_eps": "norm_epsilon", "max_position_embeddings": "max_length"}


def read_config(folder: Path) -> dict[str, Any]:
    """The settings in `config.json`. Raises CheckpointError if the file is missing or not a JSON object."""
    file = folder / CONFIG
    if not file.is_file():
        raise CheckpointError(f"no {CONFIG} in {folder}; give the folder of a released model")
    config = checkpoint.read_json(file)
    if not isinstance(config, dict):
        raise CheckpointError(f"{file} contains a {type(config).__name__}; it must contain a JSON object")
    return cast(dict[str, Any], config)


def read_settings(
    file: Path, config: Mapping[str, Any], model: str, names: Mapping[str, str], fixed: Mapping[str, object]
) -> dict[str, Any]:
    """Settings in `config` under our names.

    Args:
        file: the file of `config`, for error messages.
        model: name of the model in error messages.
        names: required settings of theirs -> ours.
        fixed: settings for which `model` supports only one value; this value is also the default of a missing setting.

    Raises:
        CheckpointError: if a setting is missing or has a value that `model` does not support.
    """
    if missing := names.keys() - config.keys():
        raise CheckpointError(f"{file} lacks {', '.join(sorted(missing))}; the configuration of every {model} has it")
    for name, value in fixed.items():
        if config.get(name, value) != value:
            raise CheckpointError(f"{file} has {name} {config[name]!r}; {model} supports only {value!r}")
    return {ours: config[theirs] for theirs, ours in names.items()}


def read_bert(folder: Path, config: Mapping[str, Any], model: str, fixed: Mapping[str, object]) -> dict[str, Any]:
    """Settings of a complete BERT, RoBERTa, or model built on one of them.

    The position table of RoBERTa, and of what is built on it, starts with unused rows up to the pad id; they do not
    count in `max_length`.

    Raises:
        CheckpointError: see `read_settings`.
    """
    settings = read_settings(folder / CONFIG, config, model, ENCODER | _TABLES, {**COMPUTED, **fixed})
    if config["model_type"] not in _LIKE_ROBERTA:
        return settings
    rows, pad_id = settings["max_length"], config.get("pad_token_id", 1)
    if not (isinstance(rows, int) and isinstance(pad_id, int)):
        raise CheckpointError(
            f"{folder / CONFIG} has max_position_embeddings {rows!r} and pad_token_id {pad_id!r}; both must be integers"
        )
    return settings | {"max_length": rows - pad_id - 1}


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Tensors under their authors' names. Code in a torch file is never run.

    Raises:
        CheckpointError: if there is no file with weights, or it contains anything but named tensors.
    """
    file = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if file is None:
        raise CheckpointError(f"no weights in {folder}; it needs {' or '.join(WEIGHTS)}")
    if file.suffix == ".safetensors":
        return checkpoint.read_tensors(file)
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds of errors, and its message advises to run the code
        raise CheckpointError(
            f"{file} is not a torch file of plain tensors ({type(error).__name__}): "
            "it is damaged, or contains code, which is never run; save its weights as model.safetensors"
        ) from error
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in content.items()
    ):
        raise CheckpointError(f"{file} contains more than named tensors; save only the model's state_dict")
    return cast(dict[str, Tensor], content)


def read_labels(folder: Path, config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Names of `count` outputs: from `labels.json`, else from `id2label` if it has `count` names, else `label_<n>`.

    Raises:
        CheckpointError: if `labels.json` is not a list of `count` distinct names.
    """

    def are_names(labels: object) -> TypeGuard[list[str]]:
        return (
            isinstance(labels, list)
            and all(isinstance(label, str) for label in labels)
            and len(set(labels)) == len(labels) == count
        )

    file = folder / "labels.json"
    if file.is_file():
        given = checkpoint.read_json(file)
        if not are_names(given):
            raise CheckpointError(
                f"{file} must be a list of {count} distinct names, one per output of the classifier; got {given!r}"
            )
        return tuple(given)
    id2label = config.get("id2label")
    names = [id2label.get(str(number)) for number in range(len(id2label))] if isinstance(id2label, dict) else []
    return tuple(names) if are_names(names) else tuple(f"label_{number}" for number in range(count))


def build_recipe(
    folder: Path, task: Mapping[str, Any], model: Mapping[str, Any], max_length: int, overrides: Sequence[str]
) -> Recipe:
    """The recipe with the sections [task] and [model] and with `overrides`. Raises RecipeError if it is not valid."""
    values: dict[str, Any] = {
        "name": folder.absolute().name,
        "task": task,
        "model": model,
        "max_length": max_length,
        "train": {"steps": 1},  # required; the folder does not contain training settings
    }
    return recipes.from_dict(override(values, overrides))


def assemble(
    file: Path, config: Mapping[str, Any], recipe: Recipe, names: NameTable, weights: Mapping[str, Tensor]
) -> Checkpoint:
    """The checkpoint of `recipe` with `weights`. Its provenance lists the parameters that `weights` do not contain.

    Args:
        file: the file of `config`; the vocabulary is in the same folder.

    Raises:
        CheckpointError: if the vocabulary is missing or does not match `config`, or the weights do not fit; lists
            missing and unexpected parameters.
    """
    folder = file.parent
    vocabulary = tokenizer.load(folder)
    for key, size in (("vocab_size", vocabulary.vocab_size), ("pad_token_id", vocabulary.pad_id)):
        if config.get(key) != size:
            raise CheckpointError(
                f"{key} is {config.get(key)!r} in {file}, but {size} in the vocabulary of the same folder"
            )
    classifier = (
        None if names.is_ours_only("head.classifier.weight") else weights.get(names.to_theirs("head.classifier.weight"))
    )
    labels = () if classifier is None else read_labels(folder, config, len(classifier))
    model = checkpoint.build_model(recipe, vocabulary, labels)
    fresh = _fill(model, weights, names, file)
    provenance = {"layoutray": VERSION, "imported_from": str(folder.absolute()), "fresh": list(fresh)}
    return Checkpoint(
        recipe=recipe, labels=labels, tokenizer=vocabulary, model=model.eval(), metrics={}, provenance=provenance
    )


def _fill(model: TaskModel, weights: Mapping[str, Tensor], names: NameTable, file: Path) -> tuple[str, ...]:
    """Load `weights` into `model`; returns the names of tensors that keep their initial values."""
    mapped = {name: tensor for name, tensor in model.state_dict().items() if not names.is_ours_only(name)}
    given = {name: tensor for name, tensor in weights.items() if not names.is_dropped(name)}
    stored = checkpoint.unique_tensors(model)
    # The release may store a tensor that is tied to another one in our model once or twice.
    expected = {
        names.to_theirs(name): tensor
        for name, tensor in mapped.items()
        if name in stored or names.to_theirs(name) in given
    }
    if problems := checkpoint.mismatch(given, expected):
        raise CheckpointError(f"the weights in {file.parent} do not fit the settings in {file.name}: {problems}")
    model.load_state_dict({names.to_ours(name): tensor for name, tensor in given.items()}, strict=False)
    if untied := [name for name, tensor in expected.items() if not torch.equal(tensor, given[name].to(tensor.dtype))]:
        raise CheckpointError(
            f"{checkpoint.listed(untied)} in {file.parent} differs from the tensor that it is tied to in our model"
        )
    return tuple(sorted(stored.keys() - mapped.keys()))
