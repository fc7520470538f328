"""Parameter names of Pyramidion's input and layers with those of the encoders that it starts from."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import layers

FROM_PEER = NameTable(
    (
        ("model.embeddings.word_embeddings", "word_embedding"),
        ("model.embeddings.position_embeddings", "core.position_embedding"),
        ("model.embeddings.token_type_embeddings", "core.segment_embedding"),
        ("model.embeddings.LayerNorm", "core.norm"),
        *layers("model.", ""),
    )
)
"""From our `hf` architecture with a BERT or RoBERTa; both sides are encoders, ours with a `core`."""
