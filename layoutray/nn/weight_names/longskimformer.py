"""Parameter names of LongSkimformer in the Skim-Attention release <-> ours (encoder and head of a task model)."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.masked_lm import KEPT_TWICE, ROBERTA_HEAD
from layoutray.nn.weight_names.skimformer import CONTEXTUALISER_LAYER, TEXT_LAYER

_BODY = "longskimformer"

TABLE = NameTable(
    (
        (f"{_BODY}.text_embeddings.word_embeddings", "encoder.word_embedding"),
        (f"{_BODY}.text_embeddings.token_type_embeddings", "encoder.segment_embedding"),
        (f"{_BODY}.text_embeddings.LayerNorm", "encoder.text_norm"),
        (f"{_BODY}.two_dim_pos_embeddings.x_position_embeddings", "encoder.layout_embedding.x"),
        (f"{_BODY}.two_dim_pos_embeddings.y_position_embeddings", "encoder.layout_embedding.y"),
        (f"{_BODY}.two_dim_pos_embeddings.w_position_embeddings", "encoder.layout_embedding.width"),
        (f"{_BODY}.two_dim_pos_embeddings.h_position_embeddings", "encoder.layout_embedding.height"),
        (f"{_BODY}.two_dim_pos_embeddings.LayerNorm", "encoder.layout_embedding.norm"),
        (f"{_BODY}.skim_attention.query", "encoder.skim_attention.query"),
        (f"{_BODY}.skim_attention.key", "encoder.skim_attention.key"),
        *(
            (f"{_BODY}.layout_encoder.layer.{{}}.{theirs}", f"encoder.contextualiser.{{}}.{ours}")
            for theirs, ours in CONTEXTUALISER_LAYER
        ),
        *((f"{_BODY}.encoder.layer.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in TEXT_LAYER),
        *ROBERTA_HEAD,
        ("classifier", "head.classifier"),
    ),
    dropped=(
        *KEPT_TWICE,
        # Weights of global attention, which no token uses.
        f"{_BODY}.skim_attention.query_global",
        f"{_BODY}.skim_attention.key_global",
        *(f"{_BODY}.layout_encoder.layer.{{}}.attention.self.{name}_global" for name in ("query", "key", "value")),
        f"{_BODY}.encoder.layer.{{}}.attention.self.value_global",
    ),
)
