"""Parameter names of the Pyramidion release (fairseq's) <-> ours (encoder, and decoder as head, of a task model)."""

from collections.abc import Sequence

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import layers

_FEED_FORWARD = (
    ("fc1", "feed_forward.expand"),
    ("fc2", "feed_forward.contract"),
    ("final_layer_norm", "feed_forward.join.norm"),
)


def _attention(theirs: str, ours: str, join: str) -> tuple[tuple[str, str], ...]:
    return (
        (f"{theirs}.q_proj", f"{ours}.query"),
        (f"{theirs}.k_proj", f"{ours}.key"),
        (f"{theirs}.v_proj", f"{ours}.value"),
        (f"{theirs}.out_proj", f"{ours}.output"),
        (f"{theirs}_layer_norm", f"{join}.norm"),
    )


_ENCODER_LAYER = (*_attention("self_attn", "attention", "join"), *_FEED_FORWARD)

_DECODER_LAYER = (
    *_attention("self_attn", "self_attention", "self_join"),
    *_attention("encoder_attn", "cross_attention", "cross_join"),
    *_FEED_FORWARD,
)


def table(halvings: Sequence[int]) -> NameTable:
    """The table for an encoder with these halvings. All layers of the release have a scorer; ours only if they pool."""
    return NameTable(
        (
            ("encoder.embed_tokens", "encoder.word_embedding"),
            *((f"encoder.layers.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in _ENCODER_LAYER),
            ("encoder.pooler.scorer.{}", "encoder.pools.{}.scorer.classifier"),
            ("decoder.embed_tokens", "head.decoder.word_embedding"),
            *((f"decoder.layers.{{}}.{theirs}", f"head.decoder.layers.{{}}.{ours}") for theirs, ours in _DECODER_LAYER),
        ),
        dropped=(
            *(f"{side}.{name}" for side in ("encoder", "decoder") for name in ("version", "embed_positions")),
            "decoder.output_projection",  # a duplicate of the embedding table
            *(f"encoder.pooler.scorer.{layer}" for layer, number in enumerate(halvings) if not number),
        ),
        ours_only=("head.classifier",),  # the release has no word labels
    )


FROM_PEER = NameTable(
    (
        ("model.embeddings.word_embeddings", "word_embedding"),
        ("model.embeddings.position_embeddings", "core.position_embedding"),
        ("model.embeddings.token_type_embeddings", "core.segment_embedding"),
        ("model.embeddings.LayerNorm", "core.norm"),
        *layers("model.", ""),
    )
)
"""From our `hf` architecture with a BERT or RoBERTa; both sides are encoders, ours with a `core`."""
