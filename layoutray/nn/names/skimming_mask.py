"""Parameter names of SkimmingMask in the Skim-Attention release <-> ours (an encoder and a head within a task model)."""

from layoutray.nn.names import NameTable
from layoutray.nn.names.skimformer import CONTEXTUALISER_LAYER

_BODY = "skimming_mask_model"
_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))

TABLE = NameTable(
    (
        (f"{_BODY}.embeddings.word_embeddings", "encoder.word_embedding"),
        (f"{_BODY}.embeddings.position_embeddings", "encoder.position_embedding"),
        (f"{_BODY}.embeddings.token_type_embeddings", "encoder.segment_embedding"),
        (f"{_BODY}.embeddings.LayerNorm", "encoder.norm"),
        *((f"{_BODY}.embeddings.{theirs}_position_embeddings", f"encoder.boxes.{ours}") for theirs, ours in _SIDES),
        *(
            (f"{_BODY}.two_dim_pos_embeddings.{theirs}_position_embeddings", f"encoder.skimmer.layout_embedding.{ours}")
            for theirs, ours in _SIDES
        ),
        (f"{_BODY}.two_dim_pos_embeddings.LayerNorm", "encoder.skimmer.layout_embedding.norm"),
        *(
            (f"{_BODY}.layout_encoder.layer.{{}}.{theirs}", f"encoder.skimmer.contextualiser.layers.{{}}.{ours}")
            for theirs, ours in CONTEXTUALISER_LAYER
        ),
        (f"{_BODY}.skim_attention.query", "encoder.skimmer.skim_attention.query"),
        (f"{_BODY}.skim_attention.key", "encoder.skimmer.skim_attention.key"),
        *((f"{_BODY}.encoder.layer.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in CONTEXTUALISER_LAYER),
        ("classifier", "head.classifier"),
    ),
    dropped=(f"{_BODY}.embeddings.position_ids",),
)
