"""Parameter names of LayoutLMv3 without pictures in the transformers library <-> ours (encoder and head)."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import bert
from layoutray.nn.weight_names.masked_lm import CLASSIFIER

_TABLES = (("x", "x"), ("y", "y"), ("h", "height"), ("w", "width"))
_BIASES = (("", "sequential"), ("_x", "horizontal"), ("_y", "vertical"))

TABLE = NameTable(
    (
        *((f"layoutlmv3.embeddings.{name}_position_embeddings", f"encoder.boxes.{own}") for name, own in _TABLES),
        *((f"layoutlmv3.encoder.rel_pos{name}_bias", f"encoder.relative_bias.{own}") for name, own in _BIASES),
        *bert("layoutlmv3.", "encoder."),
        CLASSIFIER,
    )
)
