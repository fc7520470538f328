"""Parameter names of BERT + SkimEmbeddings in the Skim-Attention release <-> ours (an encoder and a head within a task model)."""

from layoutray.nn.names import NameTable
from layoutray.nn.names.skimformer import CONTEXTUALISER_LAYER

_BODY = "bert_with_skim_embed"
_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))

TABLE = NameTable(
    (
        (f"{_BODY}.embeddings.word_embeddings", "encoder.word_embedding"),
        (f"{_BODY}.embeddings.position_embeddings", "encoder.position_embedding"),
        (f"{_BODY}.embeddings.token_type_embeddings", "encoder.segment_embedding"),
        (f"{_BODY}.embeddings.LayerNorm", "encoder.norm"),
        *((f"{_BODY}.embeddings.{theirs}_position_embeddings", f"encoder.boxes.tables.{ours}") for theirs, ours in _SIDES),
        *((f"{_BODY}.embeddings.{theirs}_position_projection", f"encoder.boxes.projections.{ours}") for theirs, ours in _SIDES),
        *((f"{_BODY}.encoder.layer.{{}}.{theirs}", f"encoder.layers.{{}}.{ours}") for theirs, ours in CONTEXTUALISER_LAYER),
        ("classifier", "head.classifier"),
    ),
    dropped=(f"{_BODY}.embeddings.position_ids",),
)
