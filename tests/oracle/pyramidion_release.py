"""The Pyramidion release (a fork of fairseq) in our terms: its settings and the names of its parameters."""

import ast
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from layoutray.nn.weight_names import NameTable

ENCODER = {
    "encoder_embed_dim": "hidden",
    "encoder_layers": "layers",
    "encoder_attention_heads": "heads",
    "encoder_ffn_embed_dim": "feed_forward",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "max_source_positions": "max_length",
}
DECODER = {
    "decoder_layers": "layers",
    "decoder_attention_heads": "heads",
    "decoder_ffn_embed_dim": "feed_forward",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
}
_FEED_FORWARD = (
    ("fc1", "feed_forward.expand"),
    ("fc2", "feed_forward.contract"),
    ("final_layer_norm", "feed_forward.join.norm"),
)


def encoder_settings(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Our configuration of the encoder."""
    settings = {ours: theirs[name] for name, ours in ENCODER.items()}
    pooling, attention = theirs.get("encoder_pooling"), theirs.get("use_sparse_attn")
    plain = pooling == "lambda" and attention != "only_blockwise"
    return settings | {
        "block": 0 if plain or attention == "pooler_no_block" else theirs["chunk_size"],
        "halvings": (0,) * settings["layers"] if pooling == "lambda" else _halvings(theirs, settings),
        "order": "document" if theirs.get("sort_back") else "score",
        "padding": "reference_parity",
    }


def writing_settings(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Our settings of text generation."""
    decoder = {ours: theirs[name] for name, ours in DECODER.items()} | {"positions": "reference_parity"}
    return {"max_length": theirs["max_target_positions"], "begin": "end", "decoder": decoder}


def table(halvings: Sequence[int]) -> NameTable:
    """Names of an encoder with these halvings and its decoder. The release has a scorer in each layer, ours do not."""
    encoder_layer = (*_attention("self_attn", "attention", "join"), *_FEED_FORWARD)
    decoder_layer = (
        *_attention("self_attn", "self_attention", "self_join"),
        *_attention("encoder_attn", "cross_attention", "cross_join"),
        *_FEED_FORWARD,
    )
    return NameTable(
        (
            ("encoder.embed_tokens", "encoder.word_embedding"),
            *((f"encoder.layers.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in encoder_layer),
            ("encoder.pooler.scorer.{}", "encoder.pools.{}.scorer.classifier"),
            ("decoder.embed_tokens", "head.decoder.word_embedding"),
            *((f"decoder.layers.{{}}.{theirs}", f"head.decoder.layers.{{}}.{ours}") for theirs, ours in decoder_layer),
        ),
        dropped=(
            *(f"{side}.{name}" for side in ("encoder", "decoder") for name in ("version", "embed_positions")),
            "decoder.output_projection",  # a duplicate of the embedding table
            *(f"encoder.pooler.scorer.{layer}" for layer, number in enumerate(halvings) if not number),
        ),
    )


def _attention(theirs: str, ours: str, join: str) -> tuple[tuple[str, str], ...]:
    projections = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
    pairs = ((f"{theirs}.{one}", f"{ours}.{other}") for one, other in projections.items())
    return (*pairs, (f"{theirs}_layer_norm", f"{join}.norm"))


def _halvings(theirs: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[int, ...]:
    """From the release's mapping {layer: number of tokens after it} of pooling layers."""
    lengths_after = {int(k): int(v) for k, v in ast.literal_eval(str(theirs["enc_layers_and_token_width"])).items()}
    lengths = [settings["max_length"]]
    for layer in range(settings["layers"]):
        lengths.append(lengths_after.get(layer, lengths[-1]))
    return tuple((before // after).bit_length() - 1 for before, after in pairwise(lengths))
