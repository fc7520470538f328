"""The encoders that "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169, Table 2) compares, as how
many tokens are left after each layer.
"""

from collections.abc import Sequence
from typing import Literal

Name = Literal[
    "vanilla", "blockwise", "transpooler", "pyramidion", "deep_pyramidion", "lsh", "efficient", "power", "funnel"
]


def pyramid(name: Name, halvings: Sequence[int]) -> tuple[int, ...]:
    """How often encoder `name` halves the tokens after each layer, where `halvings` says it for DeepPyramidion.

    All that shorten a text shorten it by the same factor: Transpooler after the last layer, Funnel after the first, Pyramidion step by
    step, PoWER as DeepPyramidion.
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
