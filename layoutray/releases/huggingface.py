"""A checkpoint as a folder of the transformers library: configuration, weights, tokenizer and model card."""

import shutil
from itertools import chain
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification, PreTrainedTokenizerFast

from layoutray import config
from layoutray.auto_classes import LayoutrayConfig, LayoutrayForTokenClassification
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.releases.library_form import library_form
from layoutray.tasks import ReadsNames, TagsWords
from layoutray.tasks.masked_lm import MaskedLanguageModel
from layoutray.tokenizer import Tokenizer

OURS = "layoutray"
"""Key of config.json with what only layoutray needs."""
_WITH_MASKED_WORDS = ("bert", "roberta", "layoutlm", "longformer")
_POSSIBLE = (
    "models that label words (entities, entities_bioes, layout_labels), of every architecture; and masked language "
    f"models (masked_lm) of architecture hf with model_type {', '.join(_WITH_MASKED_WORDS)}, or of lambert without "
    "layout and relative biases"
)
_SAMPLE = ("Invoice", "No.", "12.50", "2026-03-04", "Straße,", "(EUR)", "a@b.org", "№7")
"""Words of which both tokenizers must make the same tokens."""


def library_model(loaded: Checkpoint) -> Any:
    """The model to export: of the library if it has one that computes the same, else a `layoutray.auto_classes` one.

    Raises:
        CheckpointError: if neither exists; it names what can be exported.
    """
    form, task, recipe = library_form(loaded), loaded.recipe.task, loaded.recipe
    labels: dict[str, Any] = {
        "id2label": dict(enumerate(loaded.labels)),
        "label2id": {name: number for number, name in enumerate(loaded.labels)},
    }
    if isinstance(task, TagsWords) and loaded.labels and not isinstance(task, ReadsNames):
        if form is not None:
            model = form.build(AutoModelForTokenClassification, labels)
        else:
            settings = {key: value for key, value in recipe.model.items() if key != "arch"}
            ours = LayoutrayConfig(
                arch=recipe.arch,
                settings=settings,
                vocab_size=loaded.tokenizer.vocab_size,
                pad_token_id=loaded.tokenizer.pad_id,
                **labels,
            )
            model = LayoutrayForTokenClassification(ours).eval()
            model.load_state_dict(loaded.model.state_dict())
    elif isinstance(task, MaskedLanguageModel) and form is not None and form.config.model_type in _WITH_MASKED_WORDS:
        model = form.build(AutoModelForMaskedLM, {})
    else:
        raise CheckpointError(
            f"{recipe.name} is a model of architecture {recipe.arch} and task {task.name}, which cannot "
            f"be exported; what can be: {_POSSIBLE}"
        )
    # What `layoutray import transformers` reads, without paths and values of documents, and what was fitted to these.
    stated = config.to_dict(task)
    for kind in stated.get("fields", {}).values():
        kind |= {"known": "", "known_values": ()}
        if kind["second_look"]:
            kind |= {"second_look": (), "labelled_values": (), "accept_from": None}
    extra = {"task": stated, "max_length": recipe.max_length, "temperature": loaded.temperature}
    setattr(model.config, OURS, extra)
    return model


def needs_layoutray(model: Any) -> bool:
    """Whether `layoutray` must be installed to load `model`."""
    return isinstance(model, LayoutrayForTokenClassification)


def write(folder: Path, loaded: Checkpoint, model: Any, card: str) -> None:
    """Write `model` and the vocabulary, the card last. Raises CheckpointError if the library cuts words differently."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(folder, loaded.tokenizer, loaded.recipe.max_length)
    model.save_pretrained(folder)
    # The library writes the weights for their owner alone.
    shutil.copymode(folder / "config.json", folder / "model.safetensors")
    (folder / "README.md").write_text(card, encoding="utf-8")


def _write_tokenizer(folder: Path, vocabulary: Tokenizer, max_length: int) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`. Special tokens surround the words, as in our windows.

    Args:
        max_length: tokens of a window, at most.

    Raises:
        CheckpointError: if the library cuts words differently.
    """
    inner = tokenizers.Tokenizer.from_str(vocabulary.inner.to_str())
    pad, start, end, mask, unknown = (inner.id_to_token(number) for number in vocabulary.special_ids)
    inner.post_processor = TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(start, vocabulary.start_id), (end, vocabulary.end_id)],
    )
    if isinstance(inner.pre_tokenizer, ByteLevel):
        inner.pre_tokenizer.add_prefix_space = True  # ours puts a blank before each word
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=pad,
        cls_token=start,
        sep_token=end,
        mask_token=mask,
        unk_token=unknown,
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
    )
    words = [word for word in _SAMPLE if vocabulary.inner.encode(word, add_special_tokens=False).ids]
    expected = [vocabulary.start_id, *chain.from_iterable(vocabulary.words_to_ids(words)), vocabulary.end_id]
    found = made(words, is_split_into_words=True)["input_ids"]
    if found != expected:
        raise CheckpointError(
            f"the transformers library cuts {words} into the tokens {found}, but the checkpoint into {expected}; "
            "only vocabularies of WordPiece and of byte pairs can be exported"
        )
    made.save_pretrained(folder)
