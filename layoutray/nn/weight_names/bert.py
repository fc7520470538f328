"""Parameter names of BERT in the transformers library and in models built on it <-> ours."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.skimformer import CONTEXTUALISER_LAYER

EMBEDDINGS = (
    ("word_embeddings", "word_embedding"),
    ("position_embeddings", "position_embedding"),
    ("token_type_embeddings", "segment_embedding"),
    ("LayerNorm", "norm"),
)


def layers(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Pairs for layers; `theirs` and `ours` are prefixes, including the dot."""
    return tuple(
        (f"{theirs}encoder.layer.{{}}.{name}", f"{ours}layers.{{}}.{own}") for name, own in CONTEXTUALISER_LAYER
    )


def bert(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Pairs for embeddings and layers; the arguments are those of `layers`."""
    return (*((f"{theirs}embeddings.{name}", f"{ours}{own}") for name, own in EMBEDDINGS), *layers(theirs, ours))


FROM_PEER = NameTable(bert("model.", ""))
"""From our `hf` architecture with a BERT or RoBERTa; both sides are encoders."""
