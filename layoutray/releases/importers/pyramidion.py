"""The release of "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169).

On GitHub: applicaai/pyramidions.

The release is a fork of fairseq. Its checkpoint is `checkpoint_best.pt` or `checkpoint_last.pt`, which contains
settings and weights. Its vocabulary is a SentencePiece model whose pieces are numbered by `dict.txt`. The import needs
a `tokenizer.json` with the same numbers, and compares both if `dict.txt` (or `dict.src.txt`) exists. Our vocabularies
need a `<mask>`, which fairseq's do not have; it can replace one of the made-up words that fairseq adds to its table.

Encoder and decoder are imported as a model of task `summary`. With the override `task.name=masked_lm`, the decoder is
dropped, and the checkpoint gets a newly initialised masked-LM head. Padding takes part as in the release; the override
`model.padding=masked` hides it. Our documents start with a start token; those of the release do not. Text generation
starts with the end token, as in the release.
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
from layoutray.nn.decoder import DecoderConfig
from layoutray.nn.weight_names.pyramidion import table
from layoutray.releases.folder import assemble, build_recipe, read_settings, read_torch, tensors_by_name
from layoutray.tasks import WritesTexts

_FILES = ("checkpoint_best.pt", "checkpoint_last.pt")
_DICTIONARIES = ("dict.txt", "dict.src.txt")
_FIRST_PIECES = ("<s>", "<pad>", "</s>", "<unk>")
"""First pieces of every fairseq vocabulary; `dict.txt` lists the pieces after them."""
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
    """See `layoutray.releases.importers.Importer`."""
    file = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise CheckpointError(f"no checkpoint in {folder}; it needs {' or '.join(_FILES)}, as fairseq saves it")
    saved = read_torch(file, plain=[Namespace])
    if not isinstance(saved, dict) or "model" not in saved:
        raise CheckpointError(f"{file} is not a fairseq checkpoint: it has no weights under 'model'")
    weights = tensors_by_name(saved["model"], file)
    if "encoder.embed_tokens.weight" not in weights:
        raise CheckpointError(
            f"{file} has no encoder.embed_tokens.weight; it must contain a complete encoder and decoder of fairseq"
        )
    _check_vocabulary(folder)
    settings = _settings(saved, file)
    model = encoder_settings(settings, file)
    task = _task_section(writing_settings(settings, file), overrides)
    recipe = build_recipe(folder, task, {"arch": "pyramidion", **model}, model["max_length"], overrides)
    names = table(model["halvings"])
    if isinstance(recipe.task, WritesTexts):
        _check_no_pointer(recipe.task.writing.decoder)
        _check_tied(weights, file)
    else:
        names = replace(names, dropped=(*names.dropped, "decoder"), ours_only=("head",))
    vocabulary = {
        "vocab_size": len(weights["encoder.embed_tokens.weight"]),
        "pad_token_id": _FIRST_PIECES.index("<pad>"),
    }
    return assemble(file, vocabulary, recipe, names, weights)


def _check_no_pointer(decoder: DecoderConfig) -> None:
    if decoder.copying != "none":
        raise CheckpointError(
            f"task.writing.decoder.copying is {decoder.copying!r}; decoders of the release do not copy, "
            "import them with 'none'"
        )


def _task_section(writing: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The section [task] before the overrides: without `writing` if they name a task that lacks this key."""
    match override({"task": {"name": "summary"}}, overrides):
        case {"task": {"name": str(name)}} if "writing" not in tasks.setting_names(tasks.load(name)):
            return {"name": name}
        case _:
            return {"name": "summary", "writing": writing}


def encoder_settings(theirs: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Our configuration of the encoder from the release's settings, which were read from `file`.

    Raises:
        CheckpointError: if a setting is missing or has a value that our encoder does not support.
    """
    settings = read_settings(file, theirs, "pyramidion", _NAMES, _FIXED)
    pooling, attention = theirs.get("encoder_pooling"), theirs.get("use_sparse_attn")
    plain = pooling == "lambda" and attention != "only_blockwise"
    full_attention = plain or attention == "pooler_no_block"
    if not full_attention and "chunk_size" not in theirs:
        raise CheckpointError(f"{file} lacks chunk_size, which blockwise attention needs")
    return settings | {
        "block": 0 if full_attention else theirs["chunk_size"],
        "halvings": (0,) * settings["layers"] if pooling == "lambda" else _halvings(theirs, settings, file),
        "order": "document" if theirs.get("sort_back") else "score",
        "padding": "reference_parity",
    }


def writing_settings(theirs: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Our settings of text generation from the release's settings, which were read from `file`.

    Raises:
        CheckpointError: if a setting is missing or has a value that our decoder does not support.
    """
    settings = read_settings(file, theirs, "pyramidion", _DECODER_NAMES, _DECODER_FIXED)
    # The release declares an option to omit positions but never reads it.
    return {
        "max_length": settings.pop("max_length"),
        "begin": "end",
        "decoder": settings | {"positions": "reference_parity"},
    }


def _check_tied(weights: Mapping[str, Tensor], file: Path) -> None:
    """Raise CheckpointError if the decoder's output projection differs from the token embeddings."""
    embeddings, projection = (
        weights.get(name) for name in ("encoder.embed_tokens.weight", "decoder.output_projection.weight")
    )
    if embeddings is not None and projection is not None and not torch.equal(embeddings, projection):
        raise CheckpointError(
            f"decoder.output_projection.weight in {file} differs from encoder.embed_tokens.weight; our models tie both"
        )


def _halvings(theirs: Mapping[str, Any], settings: Mapping[str, Any], file: Path) -> tuple[int, ...]:
    """The halvings of each layer, from the release's mapping {layer: number of tokens after it} of pooling layers."""
    widths = theirs.get("enc_layers_and_token_width")
    try:
        lengths_after: dict[int, int] = {
            int(layer): int(length) for layer, length in dict(ast.literal_eval(str(widths))).items()
        }
    except (ValueError, TypeError, SyntaxError) as error:
        raise CheckpointError(
            f"{file} has enc_layers_and_token_width {widths!r}; it must be like '{{2: 2048, 3: 512}}'"
        ) from error
    lengths = [settings["max_length"]]
    for layer in range(settings["layers"]):
        lengths.append(lengths_after.get(layer, lengths[-1]))
    for before, after in pairwise(lengths):
        if after < 1 or before % after or (before // after).bit_count() != 1:
            raise CheckpointError(
                f"{file} has enc_layers_and_token_width {widths!r}: {before} tokens cannot be halved to {after}; "
                "each number must be the next one times a power of two"
            )
    return tuple((before // after).bit_length() - 1 for before, after in pairwise(lengths))


def _settings(saved: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The settings of the model: under `cfg` since fairseq 1.0, under `args` before."""
    cfg = saved.get("cfg")
    stored = cfg.get("model") if isinstance(cfg, dict) else saved.get("args")
    settings = vars(stored) if isinstance(stored, Namespace) else stored
    if not isinstance(settings, dict):
        raise CheckpointError(f"{file} has no model configuration: it has settings neither in cfg.model nor in args")
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
                f"{piece!r} is number {number} in {dictionaries[0]}, "
                f"but {known.get(piece, 'missing')} in the vocabulary of the same folder"
            )


IMPORTER = read
