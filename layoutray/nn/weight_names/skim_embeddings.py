"""Parameter names of the Skim-Attention release, and of our Skimformer, <-> those of our BERT + SkimEmbeddings."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import bert

_BODY = "bert_with_skim_embed"
_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))

TABLE = NameTable(
    (
        *bert(f"{_BODY}.", "encoder."),
        *(
            (f"{_BODY}.embeddings.{theirs}_position_embeddings", f"encoder.boxes.tables.{ours}")
            for theirs, ours in _SIDES
        ),
        *(
            (f"{_BODY}.embeddings.{theirs}_position_projection", f"encoder.boxes.projections.{ours}")
            for theirs, ours in _SIDES
        ),
        ("classifier", "head.classifier"),
    ),
    dropped=(f"{_BODY}.embeddings.position_ids",),
)
"""From the Skim-Attention release; ours are an encoder and a head within a task model."""

FROM_SKIMFORMER = NameTable(
    tuple((f"layout_embedding.{side}", f"boxes.tables.{side}") for _, side in _SIDES),
    dropped=(
        "layout_embedding.norm",
        "contextualiser",
        "skim_attention",
        "word_embedding",
        "segment_embedding",
        "text_norm",
        "layers",
    ),
)
"""From our Skimformer, of which only the coordinate tables are used; both sides are encoders."""
