"""Parameter names of BERT, in the transformers library and in all that is built on it <-> those of our models with BERT's text layers."""

from layoutray.nn.names.skimformer import CONTEXTUALISER_LAYER


def bert(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Pairs for embeddings and layers; `theirs` and `ours` go in front of the names, dots included."""
    return (
        (f"{theirs}embeddings.word_embeddings", f"{ours}word_embedding"),
        (f"{theirs}embeddings.position_embeddings", f"{ours}position_embedding"),
        (f"{theirs}embeddings.token_type_embeddings", f"{ours}segment_embedding"),
        (f"{theirs}embeddings.LayerNorm", f"{ours}norm"),
        *((f"{theirs}encoder.layer.{{}}.{name}", f"{ours}layers.{{}}.{own}") for name, own in CONTEXTUALISER_LAYER),
    )
