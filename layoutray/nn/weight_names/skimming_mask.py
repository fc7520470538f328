"""Parameter names of others <-> those of SkimmingMask."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import bert
from layoutray.nn.weight_names.skimformer import CONTEXTUALISER_LAYER

_BODY = "skimming_mask_model"
_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))


def _core(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """BERT's pairs and those of LayoutLM's tables, which a BERT does not have."""
    tables = ((f"{theirs}embeddings.{name}_position_embeddings", f"{ours}boxes.{side}") for name, side in _SIDES)
    return (*bert(theirs, ours), *tables)


TABLE = NameTable(
    (
        *_core(f"{_BODY}.", "encoder."),
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
        ("classifier", "head.classifier"),
    ),
    dropped=(f"{_BODY}.embeddings.position_ids",),
)
"""The Skim-Attention release's; ours are an encoder and a head within a task model."""

FROM_CORE = NameTable(_core("model.", ""))
"""A BERT's or LayoutLM's among our peers; both sides are encoders."""

FROM_SKIMFORMER = NameTable(
    tuple((part, f"skimmer.{part}") for part in ("layout_embedding", "contextualiser", "skim_attention")),
    dropped=("word_embedding", "segment_embedding", "text_norm", "layers"),
)
"""Our Skimformer's, of which all is taken that makes its attention; both sides are encoders."""
