"""Parameter names of the Skim-Attention release, of our Skimformer and of `hf` <-> those of our SkimmingMask."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import bert
from layoutray.nn.weight_names.skimformer import CONTEXTUALISER_LAYER

_BODY = "skimming_mask_model"
_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))


def _core(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """The pairs of BERT and of LayoutLM's coordinate tables, which BERT does not have."""
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
"""From the Skim-Attention release; ours are an encoder and a head within a task model."""

FROM_CORE = NameTable(_core("model.", ""))
"""From our `hf` architecture with a BERT or LayoutLM; both sides are encoders."""

FROM_SKIMFORMER = NameTable(
    tuple((part, f"skimmer.{part}") for part in ("layout_embedding", "contextualiser", "skim_attention")),
    dropped=("word_embedding", "segment_embedding", "text_norm", "layers"),
)
"""From our Skimformer, of which the parts that compute its attention are used; both sides are encoders."""
