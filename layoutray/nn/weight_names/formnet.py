"""Parameter names of BERT in the transformers library <-> those of our FormNet with `core`."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import EMBEDDINGS
from layoutray.nn.weight_names.skimformer import LAYER

_ATTENTION = (
    *((f"attention.self.{name}", f"attention.{name}") for name in ("query", "key", "value")),
    ("attention.output.dense", "output"),
)

FROM_PEER = NameTable(
    (
        *((f"model.embeddings.{name}", own) for name, own in EMBEDDINGS),
        *((f"model.encoder.layer.{{}}.{name}", f"layers.{{}}.{own}") for name, own in (*_ATTENTION, *LAYER)),
    )
)
"""From our `hf` architecture with a BERT or RoBERTa; both sides are encoders."""
