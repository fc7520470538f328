"""Initial weights of a model: from trained encoders and decoders, or random."""

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from layoutray import architectures, checkpoint
from layoutray.architectures import Parent
from layoutray.checkpoint import Checkpoint, Fetch
from layoutray.document.tags import OUTSIDE, are_entity_tags, kind_of
from layoutray.errors import CheckpointError
from layoutray.nn.decoder import Decoder
from layoutray.recipe.recipes import Recipe
from layoutray.tasks import HasDecoder, ReadsNames, TaskModel, fields_of
from layoutray.tasks.fields_by_name import PARTS, NamesHead
from layoutray.tasks.text_generation import TextGenerationHead
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tokenizer import Tokenizer


def start_model(
    model: TaskModel,
    recipe: Recipe,
    vocabulary: Tokenizer,
    init: Sequence[str],
    fetch: Fetch = str,
    labels: Sequence[str] = (),
) -> tuple[str, ...]:
    """Load the encoders of the checkpoints `init` into that of `model`; also the decoder if both models have one.

    A checkpoint of the recipe's architecture gives the whole encoder; what `Architecture.may_lack` names keeps its
    random weights if the checkpoint lacks it. One of another architecture gives the tensors that the recipe's
    architecture inherits from it. If both models tag words, labels of the same name also get the checkpoint's output
    weights; a checkpoint that answers fields by their names gives output weights to every tag of an entity, from the
    name or the description of its field. All other heads keep their random weights.

    Args:
        fetch: gives the folder or address of a checkpoint.
        labels: names of the model's outputs, in order.

    Returns:
        Names of the encoder's parameters that no checkpoint gives; empty without checkpoints.

    Raises:
        CheckpointError: if vocabularies, configurations or tensors differ, two checkpoints give the same tensor, or the
            recipe's architecture inherits nothing from that of a checkpoint.
    """
    target = model.encoder.state_dict()
    giver: dict[str, str] = {}
    for start in init:
        source = _loaded(fetch(start), vocabulary)
        tensors = _fitting(start, source, recipe, target)
        if twice := tensors.keys() & giver.keys():
            others = {giver[name] for name in twice}
            raise CheckpointError(
                f"{start} and {', '.join(sorted(others))} both give {checkpoint.listed(twice)}; start from one of them"
            )
        giver |= dict.fromkeys(tensors, start)
        model.encoder.load_state_dict(tensors, strict=False)
        if isinstance(recipe.task, HasDecoder) and isinstance(source.recipe.task, HasDecoder):
            given, wanted = source.recipe.task.writing.decoder, recipe.task.writing.decoder
            for name in ("layers", "heads", "feed_forward", "positions", "copying"):
                theirs, ours = getattr(given, name), getattr(wanted, name)
                if theirs != ours:
                    key = f"task.writing.decoder.{name}"
                    raise CheckpointError(f"{start} has {key} {theirs!r}, the recipe has {ours!r}; they must agree")
            _decoder(model).load_state_dict(_decoder(source.model).state_dict())
        _copy_outputs(source, model, recipe, labels)
    return tuple(sorted({name for name, _ in model.encoder.named_parameters()} - giver.keys())) if init else ()


def _loaded(folder: str, vocabulary: Tokenizer) -> Checkpoint:
    source = checkpoint.load(folder)
    if source.tokenizer.inner.get_vocab() != vocabulary.inner.get_vocab():
        raise CheckpointError(
            f"the examples were encoded with another vocabulary than that of {folder}; "
            f"encode them with tokenizer.path={folder}"
        )
    return source


def _fitting(start: str, source: Checkpoint, recipe: Recipe, target: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that checkpoint `start` gives to an encoder with tensors `target`, by its names.

    An encoder of fewer layers gets the first ones.
    """
    given = source.model.encoder.state_dict()
    if _kind(source.recipe) == _kind(recipe):
        may_lack = architectures.load(recipe.arch).may_lack
        ours, theirs = (one.model.get("layers", 0) for one in (recipe, source.recipe))
        deeper = tuple(f"layers.{number}." for number in range(ours, theirs))
        given = {name: tensor for name, tensor in given.items() if not name.startswith(deeper)}
        expected = {name: tensor for name, tensor in target.items() if name in given or not name.startswith(may_lack)}
    else:
        parent = _parent(start, source, recipe)
        given = parent.names.state_to_ours(given)
        if parent.adapt:
            given = parent.adapt(given, target, theirs=source.recipe.model, ours=recipe.model)
        expected = {name: target[name] for name in given.keys() & target.keys()}
    if problems := checkpoint.mismatch(given, expected):
        theirs, ours = source.recipe.model, recipe.model
        other = [
            f"model.{key} is {theirs[key]!r} there and {value!r} in the recipe"
            for key, value in ours.items()
            if key in theirs and theirs[key] != value
        ]
        if _kind(source.recipe) == _kind(recipe) and other:  # sizes say it in fewer words than tensors
            problems = "; ".join(other)
        raise CheckpointError(
            f"the encoder of {start} does not fit the recipe's {recipe.arch}: {problems}; "
            f"set [model] to the sizes of {start}"
        )
    return given


def _kind(recipe: Recipe) -> tuple[str, str]:
    """Architecture, and the type of a model of the transformers library."""
    return recipe.arch, str(recipe.model.get("model_type", ""))


@torch.no_grad()
def _copy_outputs(source: Checkpoint, model: TaskModel, recipe: Recipe, labels: Sequence[str]) -> None:
    """Give `model` the output weights that `source` has for `labels`, if both tag words with equal widths."""
    ours = model.head
    if isinstance(ours, NamesHead) and isinstance(source.model.head, NamesHead):
        ours.load_state_dict(source.model.head.state_dict())
    if not isinstance(ours, TokenClassificationHead):
        return
    weight, bias, known = _outputs(source, recipe, labels)
    if weight.shape[1] != ours.classifier.in_features:
        return
    row = {label: number for number, label in enumerate(known)}
    for number, label in enumerate(labels):
        if label in row:
            ours.classifier.weight[number] = weight[row[label]]
            ours.classifier.bias[number] = bias[row[label]]


def _outputs(source: Checkpoint, recipe: Recipe, labels: Sequence[str]) -> tuple[Tensor, Tensor, Sequence[str]]:
    """Weights, biases and labels of an output layer that `source` gives to a model with `labels`; may be empty."""
    head, task = source.model.head, source.recipe.task
    if isinstance(head, TokenClassificationHead):
        return head.classifier.weight, head.classifier.bias, source.labels
    if not (isinstance(task, ReadsNames) and are_entity_tags(labels)):
        return torch.zeros(0, 0), torch.zeros(0), ()
    kinds = [*dict.fromkeys(kind_of(label) for label in labels if label != OUTSIDE)]
    fields = fields_of(recipe.task)
    texts = [fields[kind].description or kind if kind in fields else kind for kind in kinds]
    rows = task.output_rows(source.model, source.tokenizer, texts)
    return *rows, (OUTSIDE, *(f"{part}-{kind}" for kind in kinds for part in PARTS))


def _decoder(model: TaskModel) -> Decoder:
    return cast(TextGenerationHead, model.head).decoder


def _parent(start: str, source: Checkpoint, recipe: Recipe) -> Parent:
    inherits = architectures.load(recipe.arch).inherits
    arch, theirs, ours = source.recipe.arch, source.recipe.model, recipe.model
    if arch not in inherits:
        known = ", ".join(dict.fromkeys([recipe.arch, *inherits]))
        raise CheckpointError(
            f"{start} is of architecture {arch}; {recipe.arch} starts only from checkpoints of {known}"
        )
    parent = inherits[arch]
    for name, value in parent.fixed.items():
        if theirs[name] != value:
            raise CheckpointError(
                f"{start} has model.{name} {theirs[name]!r}; {recipe.arch} starts only from {arch} with {value!r}"
            )
    for name, own in parent.shared.items():
        if theirs[name] != ours[own]:
            raise CheckpointError(
                f"{start} has model.{name} {theirs[name]!r}, the recipe has model.{own} {ours[own]!r}; they must agree"
            )
    return parent
