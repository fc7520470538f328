"""Parameter names of the Skim-Attention release <-> ours (an encoder and a head within a task model)."""

from dataclasses import replace

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.masked_lm import BERT_HEAD, KEPT_TWICE

LAYER = (
    ("attention.output.LayerNorm", "join.norm"),
    ("intermediate.dense", "feed_forward.expand"),
    ("output.dense", "feed_forward.contract"),
    ("output.LayerNorm", "feed_forward.join.norm"),
)

CONTEXTUALISER_LAYER = (
    ("attention.self.query", "attention.query"),
    ("attention.self.key", "attention.key"),
    ("attention.self.value", "attention.value"),
    ("attention.output.dense", "attention.output"),
    *LAYER,
)

TEXT_LAYER = (("attention.self.value", "value"), ("attention.output.dense", "output"), *LAYER)

_TEXT_AND_HEADS = (
    ("skimformer.text_embeddings.word_embeddings", "encoder.word_embedding"),
    ("skimformer.text_embeddings.token_type_embeddings", "encoder.segment_embedding"),
    ("skimformer.text_embeddings.LayerNorm", "encoder.text_norm"),
    ("skimformer.skim_attention.query", "encoder.skim_attention.query"),
    ("skimformer.skim_attention.key", "encoder.skim_attention.key"),
    *(
        (f"skimformer.layout_encoder.layer.{{}}.{theirs}", f"encoder.contextualiser.layers.{{}}.{ours}")
        for theirs, ours in CONTEXTUALISER_LAYER
    ),
    *((f"skimformer.encoder.layer.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in TEXT_LAYER),
    *BERT_HEAD,
    ("classifier", "head.classifier"),
)

BOXES = NameTable(
    (
        ("skimformer.two_dim_pos_embeddings.x_position_embeddings", "encoder.layout_embedding.x"),
        ("skimformer.two_dim_pos_embeddings.y_position_embeddings", "encoder.layout_embedding.y"),
        ("skimformer.two_dim_pos_embeddings.w_position_embeddings", "encoder.layout_embedding.width"),
        ("skimformer.two_dim_pos_embeddings.h_position_embeddings", "encoder.layout_embedding.height"),
        ("skimformer.two_dim_pos_embeddings.LayerNorm", "encoder.layout_embedding.norm"),
        *_TEXT_AND_HEADS,
    ),
    KEPT_TWICE,
)
"""For models with boxes."""

DEGRADED = replace(
    BOXES,
    dropped=(
        *KEPT_TWICE,
        "skimformer.two_dim_pos_embeddings.w_position_embeddings",
        "skimformer.two_dim_pos_embeddings.h_position_embeddings",
    ),
)
"""For the degraded model; the release keeps its unused tables of widths and heights."""

POSITIONS = NameTable(
    (
        ("skimformer.one_dim_pos_embeddings.position_embeddings", "encoder.layout_embedding.position"),
        ("skimformer.one_dim_pos_embeddings.LayerNorm", "encoder.layout_embedding.norm"),
        *_TEXT_AND_HEADS,
    ),
    (*KEPT_TWICE, "skimformer.layout_encoder"),
)
"""For the model with 1-D positions; the release does not use its contextualiser."""

FROM_PEER = NameTable(
    (
        ("model.embeddings.word_embeddings", "word_embedding"),
        ("model.embeddings.token_type_embeddings", "segment_embedding"),
        ("model.embeddings.LayerNorm", "text_norm"),
        *((f"model.encoder.layer.{{}}.{theirs}", f"layers.{{}}.{ours}") for theirs, ours in TEXT_LAYER),
    ),
    dropped=(
        "model.embeddings.position_embeddings",
        *(f"model.encoder.layer.{{}}.attention.self.{name}" for name in ("query", "key")),
    ),
)
"""From our `hf` architecture with a BERT, without what its attention is computed from; both sides are encoders."""
