"""Parameter names of BERT, in the transformers library and in all that is built on it <-> those of our models with BERT's text layers."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.skimformer import CONTEXTUALISER_LAYER

EMBEDDINGS = (
    ("word_embeddings", "word_embedding"),
    ("position_embeddings", "position_embedding"),
    ("token_type_embeddings", "segment_embedding"),
    ("LayerNorm", "norm"),
)


def layers(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Pairs for layers; `theirs` and `ours` go in front of the names, dots included."""
    return tuple(
        (f"{theirs}encoder.layer.{{}}.{name}", f"{ours}layers.{{}}.{own}") for name, own in CONTEXTUALISER_LAYER
    )


def bert(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Pairs for embeddings and layers."""
    return (*((f"{theirs}embeddings.{name}", f"{ours}{own}") for name, own in EMBEDDINGS), *layers(theirs, ours))


FROM_PEER = NameTable(bert("model.", ""))
"""A BERT's or RoBERTa's among our peers; both sides are encoders."""
