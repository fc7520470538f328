"""How strongly each encoder of Table 2 shortens its input after each layer.

Table 2 of "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169).
"""

from collections.abc import Sequence
from typing import Literal

EncoderName = Literal[
    "vanilla", "blockwise", "transpooler", "pyramidion", "deep_pyramidion", "lsh", "efficient", "power", "funnel"
]


def halvings_per_layer(name: EncoderName, halvings: Sequence[int]) -> tuple[int, ...]:
    """How often encoder `name` halves the number of tokens after each layer.

    All encoders that shorten a text do so by the same factor: Transpooler after the last layer, Funnel after the first,
    Pyramidion evenly over the layers, PoWER like DeepPyramidion.

    Args:
        halvings: the halvings of DeepPyramidion after each layer.
    """
    layers, total = len(halvings), sum(halvings)
    match name:
        case "vanilla" | "blockwise" | "lsh" | "efficient":
            return (0,) * layers
        case "transpooler":
            return (*(0,) * (layers - 1), total)
        case "funnel":
            return (total, *(0,) * (layers - 1))
        case "pyramidion":
            return tuple((layer + 1) * total // layers - layer * total // layers for layer in range(layers))
        case "deep_pyramidion" | "power":
            return tuple(halvings)
