"""The release of "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169): GitHub, applicaai/pyramidions.

It is a fairseq, and what it trains is a fairseq checkpoint: `checkpoint_best.pt` or `checkpoint_last.pt`, the settings beside the weights.
Of its vocabulary, a SentencePiece model whose pieces a `dict.txt` numbers, a `tokenizer.json` with the same numbers is needed; where
`dict.txt` (or `dict.src.txt`) is there too, they are compared. One of the made-up words by which fairseq fills up its table can be the
`<mask>` that our vocabularies have and fairseq's do not.

Encoder and decoder are taken, as a model of task summary. The override `task.name=masked_lm` leaves the decoder behind, and the head of a
masked language model is freshly drawn. Padding takes part as in the release; the override `model.padding=masked` hides it. The release
reads documents without the token that ours begin with; it writes from the token on that ends texts, and so does what is imported.
"""

import ast
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from layoutray import tasks, tokenizer
from layoutray.checkpoint import Checkpoint
from layoutray.config import override
from layoutray.errors import CheckpointError
from layoutray.importing.folder import assemble, read_settings, read_torch, recipe_of, tensors_by_name
from layoutray.nn.weight_names.pyramidion import table
from layoutray.tasks import WritesTexts

_FILES = ("checkpoint_best.pt", "checkpoint_last.pt")
_DICTIONARIES = ("dict.txt", "dict.src.txt")
_FIRST_PIECES = ("<s>", "<pad>", "</s>", "<unk>")
"""Of every fairseq vocabulary; its files begin after them."""
_MADE_UP = "madeupword"

_NAMES = {
    "encoder_embed_dim": "hidden",
    "encoder_layers": "layers",
    "encoder_attention_heads": "heads",
    "encoder_ffn_embed_dim": "feed_forward",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "max_source_positions": "max_length",
}
_DECODER_NAMES = {
    "decoder_layers": "layers",
    "decoder_attention_heads": "heads",
    "decoder_ffn_embed_dim": "feed_forward",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "max_target_positions": "max_length",
}
_FIXED = {
    "activation_fn": "relu",
    "activation_dropout": 0.0,
    "encoder_normalize_before": False,
    "encoder_learned_pos": False,
    "encoder_pooling_arch": "linear",
    "flip_right": 1,
    "layernorm_embedding": False,
    "no_scale_embedding": False,
    "no_token_positional_embeddings": False,
}
_DECODER_FIXED = {
    "adaptive_softmax_cutoff": None,
    "cross_self_attention": False,
    "decoder_learned_pos": False,
    "decoder_normalize_before": False,
    "no_cross_attention": False,
    "share_decoder_input_output_embed": True,
}


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.importing.Importer`."""
    found = [folder / name for name in _FILES if (folder / name).is_file()]
    if not found:
        raise CheckpointError(f"no checkpoint in {folder}; it needs {' or '.join(_FILES)}, as fairseq saves it")
    file = found[0]
    saved = read_torch(file, plain=[Namespace])
    if not isinstance(saved, dict) or "model" not in saved:
        raise CheckpointError(f"{file} is no checkpoint of fairseq, which has its weights under 'model'")
    weights = tensors_by_name(saved["model"], file)
    if "encoder.embed_tokens.weight" not in weights:
        raise CheckpointError(
            f"{file} has no encoder.embed_tokens.weight; it must hold a whole encoder and decoder of fairseq"
        )
    _check_vocabulary(folder)
    settings = _settings(saved, file)
    model = encoder_settings(settings, file)
    task = _task_section(writing_settings(settings, file), overrides)
    chosen = recipe_of(folder, task, {"arch": "pyramidion", **model}, model["max_length"], overrides)
    names = table(model["halvings"])
    if isinstance(chosen.task, WritesTexts):
        _check_tied(weights, file)
    else:
        names = replace(names, dropped=(*names.dropped, "decoder"), own=("head",))
    facts = {"vocab_size": len(weights["encoder.embed_tokens.weight"]), "pad_token_id": _FIRST_PIECES.index("<pad>")}
    return assemble(file, facts, chosen, names, weights)


def _task_section(writing: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The section [task] before the overrides: without `writing` if they name a task that lacks this key."""
    match override({"task": {"name": "summary"}}, overrides):
        case {"task": {"name": str(name)}} if "writing" not in tasks.setting_names(tasks.load(name)):
            return {"name": name}
        case _:
            return {"name": "summary", "writing": writing}


def encoder_settings(theirs: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Our configuration of the encoder that the release's settings, read from `file`, describe.

    Raises:
        CheckpointError: when a setting is missing or has a value that our encoder is not computed with.
    """
    settings = read_settings(file, theirs, "pyramidion", _NAMES, _FIXED)
    pools, attention = theirs.get("encoder_pooling"), theirs.get("use_sparse_attn")
    plain = pools == "lambda" and attention != "only_blockwise"
    whole = plain or attention == "pooler_no_block"
    if not whole and "chunk_size" not in theirs:
        raise CheckpointError(f"{file} lacks chunk_size, which attention in blocks needs")
    return settings | {
        "block": 0 if whole else theirs["chunk_size"],
        "halvings": (0,) * settings["layers"] if pools == "lambda" else _halvings(theirs, settings, file),
        "order": "document" if theirs.get("sort_back") else "score",
        "padding": "reference_parity",
    }


def writing_settings(theirs: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """How texts are written by the decoder that the release's settings, read from `file`, describe.

    Raises:
        CheckpointError: as `encoder_settings`.
    """
    settings = read_settings(file, theirs, "pyramidion", _DECODER_NAMES, _DECODER_FIXED)
    # The release declares an option to leave the positions out, and reads it nowhere.
    return {
        "max_length": settings.pop("max_length"),
        "begin": "end",
        "decoder": settings | {"positions": "reference_parity"},
    }


def _check_tied(weights: Mapping[str, Tensor], file: Path) -> None:
    """Raise CheckpointError where words are written by other vectors than they are read by."""
    read_by, written_by = (
        weights.get(name) for name in ("encoder.embed_tokens.weight", "decoder.output_projection.weight")
    )
    if read_by is not None and written_by is not None and not torch.equal(read_by, written_by):
        raise CheckpointError(
            f"decoder.output_projection.weight in {file} is another tensor than encoder.embed_tokens.weight, to which ours is tied"
        )


def _halvings(theirs: Mapping[str, Any], settings: Mapping[str, Any], file: Path) -> tuple[int, ...]:
    """For each layer, from the lengths after those that pool, {layer: tokens}."""
    said = theirs.get("enc_layers_and_token_width")
    try:
        lengths_after: dict[int, int] = {
            int(layer): int(length) for layer, length in dict(ast.literal_eval(str(said))).items()
        }
    except (ValueError, TypeError, SyntaxError) as error:
        raise CheckpointError(
            f"{file} has enc_layers_and_token_width {said!r}; it must be like '{{2: 2048, 3: 512}}'"
        ) from error
    lengths = [settings["max_length"]]
    for layer in range(settings["layers"]):
        lengths.append(lengths_after.get(layer, lengths[-1]))
    for before, after in pairwise(lengths):
        if after < 1 or before % after or (before // after).bit_count() != 1:
            raise CheckpointError(
                f"{file} has enc_layers_and_token_width {said!r}: {before} tokens cannot be halved to {after}; ours are halved, "
                "so the one must be a power of two times the other"
            )
    return tuple((before // after).bit_length() - 1 for before, after in pairwise(lengths))


def _settings(saved: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The model's own: in `cfg` since fairseq 1.0, in `args` before it."""
    cfg = saved.get("cfg")
    said = cfg.get("model") if isinstance(cfg, dict) else saved.get("args")
    settings = vars(said) if isinstance(said, Namespace) else said
    if not isinstance(settings, dict):
        raise CheckpointError(
            f"{file} does not say how its model is built: it has settings neither in cfg.model nor in args"
        )
    return settings


def _check_vocabulary(folder: Path) -> None:
    dictionaries = [folder / name for name in _DICTIONARIES if (folder / name).is_file()]
    if not dictionaries:
        return
    lines = filter(None, dictionaries[0].read_text(encoding="utf-8").split("\n"))
    pieces = [*_FIRST_PIECES, *(line.rpartition(" ")[0] for line in lines)]
    known = tokenizer.load(folder).inner.get_vocab()
    for number, piece in enumerate(pieces):
        if known.get(piece) != number and not piece.startswith(_MADE_UP):
            raise CheckpointError(
                f"{piece!r} is number {number} in {dictionaries[0]}, but {known.get(piece, 'missing')} in the vocabulary beside it"
            )


IMPORTER = read
