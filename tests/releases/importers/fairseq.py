"""Test folders in the format of fairseq's training."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models
from torch import Tensor

from layoutray.architectures.pyramidion import ARCHITECTURE, PyramidionConfig
from layoutray.checkpoint import Checkpoint
from layoutray.nn.decoder import DecoderConfig
from layoutray.nn.weight_names.pyramidion import table
from layoutray.releases import importers
from layoutray.tasks import GenerationSettings, TaskModel
from layoutray.tasks.text_generation import TextGenerationHead
from tests.releases.reverse_import import state_to_theirs

ARGS: dict[str, Any] = {
    "encoder_embed_dim": 32,
    "encoder_layers": 3,
    "encoder_attention_heads": 4,
    "encoder_ffn_embed_dim": 64,
    "decoder_layers": 1,
    "decoder_attention_heads": 4,
    "decoder_ffn_embed_dim": 64,
    "share_decoder_input_output_embed": True,
    "max_target_positions": 24,
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "max_source_positions": 64,
    "chunk_size": 16,
    "encoder_pooling": "topk",
    "encoder_pooling_arch": "linear",
    "enc_layers_and_token_width": "{1: 32, 2: 8}",
    "use_sparse_attn": "pooler",
    "sort_back": 1,
    "activation_fn": "relu",
}
OURS = {
    "hidden": 32,
    "layers": 3,
    "heads": 4,
    "feed_forward": 64,
    "max_length": 64,
    "block": 16,
    "halvings": [0, 1, 2],
    "order": "document",
    "padding": "reference_parity",
}
PIECES = 50


def weights() -> dict[str, Tensor]:
    """Random weights under fairseq's names, including unused ones of the release."""
    torch.manual_seed(5)
    encoder = ARCHITECTURE.build(PyramidionConfig(**OURS | {"halvings": (0, 1, 2)}), vocab_size=PIECES, pad_id=1)
    head = TextGenerationHead(encoder, GenerationSettings(decoder=DecoderConfig(layers=1, heads=4, feed_forward=64)))
    state = state_to_theirs(table((0, 1, 2)), TaskModel(encoder, head).state_dict())
    unused = {"encoder.pooler.scorer.0.weight": torch.zeros(1, 32), "encoder.pooler.scorer.0.bias": torch.zeros(1)}
    unused |= {
        "encoder.version": torch.ones(1),
        "decoder.output_projection.weight": state["encoder.embed_tokens.weight"],
    }
    return {name: tensor.clone() for name, tensor in (state | unused).items()}


def pieces(count: int = PIECES) -> list[str]:
    return ["<s>", "<pad>", "</s>", "<unk>", *(f"▁word{number}" for number in range(count - 5)), "<mask>"]


def write_checkpoint(folder: Path, args: Mapping[str, Any], state: Mapping[str, Tensor]) -> Path:
    """Save as fairseq 1.0 does: one dictionary, in which the model's settings are a Namespace."""
    folder.mkdir(parents=True)
    saved = {
        "args": None,
        "cfg": {"model": Namespace(**args), "common": {"seed": 1}},
        "model": dict(state),
        "optimizer_history": [{}],
    }
    torch.save(saved, folder / "checkpoint_best.pt")
    vocabulary = {piece: number for number, piece in enumerate(pieces(len(state["encoder.embed_tokens.weight"])))}
    Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>")).save(str(folder / "tokenizer.json"))
    return folder


def read(folder: Path, *overrides: str) -> Checkpoint:
    return importers.load("pyramidion")(folder, overrides)
