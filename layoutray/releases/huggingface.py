"""A checkpoint as a folder of the transformers library: configuration, weights, tokenizer and model card."""

import shutil
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification

from layoutray import config
from layoutray.auto_classes import LayoutrayConfig, LayoutrayForTokenClassification
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.releases.library_form import library_form
from layoutray.releases.tokenizer_files import write_tokenizer
from layoutray.tasks import TagsWords, fields_of
from layoutray.tasks.masked_lm import MaskedLanguageModel

OURS = "layoutray"
"""Key of config.json with what only layoutray needs."""
_WITH_MASKED_WORDS = ("bert", "roberta", "layoutlm", "longformer")
_POSSIBLE = (
    "models that label words (entities, entities_bioes, layout_labels), of every architecture; and masked language "
    f"models (masked_lm) of architecture hf with model_type {', '.join(_WITH_MASKED_WORDS)}, or of lambert without "
    "layout and relative biases"
)


def library_model(loaded: Checkpoint) -> Any:
    """The model to export: of the library if it has one that computes the same, else a `layoutray.auto_classes` one.

    Raises:
        CheckpointError: if neither exists; it names what can be exported.
    """
    form, task, recipe = library_form(loaded), loaded.recipe.task, loaded.recipe
    labels = {
        "id2label": dict(enumerate(loaded.labels)),
        "label2id": {name: number for number, name in enumerate(loaded.labels)},
    }
    if isinstance(task, TagsWords) and loaded.labels:
        if form is not None:
            model = form.build(AutoModelForTokenClassification, labels)
        else:
            settings = {key: value for key, value in recipe.model.items() if key != "arch"}
            vocabulary = {"vocab_size": loaded.tokenizer.vocab_size, "pad_token_id": loaded.tokenizer.pad_id}
            ours = LayoutrayConfig(arch=recipe.arch, settings=settings, **vocabulary, **labels)
            model = LayoutrayForTokenClassification(ours).eval()
            model.load_state_dict(loaded.model.state_dict())
    elif isinstance(task, MaskedLanguageModel) and form is not None and form.config.model_type in _WITH_MASKED_WORDS:
        model = form.build(AutoModelForMaskedLM, {})
    else:
        raise CheckpointError(
            f"{recipe.name} is a model of architecture {recipe.arch} and task {task.name}, which cannot "
            f"be exported; what can be: {_POSSIBLE}"
        )
    # What `layoutray import transformers` reads, without paths and known values.
    stated = config.to_dict(task)
    for kind in stated.get("fields", {}).values():
        kind |= {"known": "", "known_values": ()}
    extra = {"task": stated, "max_length": recipe.max_length, "temperature": loaded.temperature}
    setattr(model.config, OURS, extra)
    return model


def needs_layoutray(model: Any) -> bool:
    """Whether `layoutray` must be installed to load `model`."""
    return isinstance(model, LayoutrayForTokenClassification)


def known_value_fields(loaded: Checkpoint) -> list[str]:
    """Fields with lists of known values, which are the owner's data and are not exported."""
    return sorted(name for name, kind in fields_of(loaded.recipe.task).items() if kind.known_values)


def write(folder: Path, loaded: Checkpoint, model: Any, card: str) -> None:
    """Write `model` with the vocabulary of `loaded`; the card comes last.

    Raises:
        CheckpointError: if the library cuts words differently than the vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder, loaded.tokenizer, loaded.recipe.max_length)
    model.save_pretrained(folder)
    # The library writes the weights for their owner alone.
    shutil.copymode(folder / "config.json", folder / "model.safetensors")
    (folder / "README.md").write_text(card, encoding="utf-8")
