"""The encoders of the Pyramidion family: what distinguishes them.

"Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169), Table 2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from layoutray.nn.block import EncoderLayer
from layoutray.nn.pooling_layer import PoolingKind
from layoutray.tensors import Encoded


@dataclass(frozen=True, kw_only=True)
class Member:
    """An encoder of the family. Functions get the whole configuration (`architectures.pyramidion.PyramidionConfig`).

    Attributes:
        halvings: how often it pools two tokens into one after each layer, given the halvings of DeepPyramidion. All
            encoders that shorten a text do so by the same factor.
        in_blocks: whether tokens attend within blocks.
        attention: builds the attention of a layer; None for attention within blocks, or in one block.
        pooling: how it pools; None if the configuration decides.
        run: the states of tokens after all layers; None runs layer after layer, each with its pooling.
    """

    halvings: Callable[[Sequence[int]], tuple[int, ...]]
    in_blocks: bool = True
    attention: Callable[[Any], nn.Module] | None = None
    pooling: PoolingKind | None = None
    run: Callable[[Any, Sequence[EncoderLayer], Encoded], Encoded] | None = None


def no_halvings(halvings: Sequence[int]) -> tuple[int, ...]:
    """Of an encoder that keeps all tokens."""
    return (0,) * len(halvings)


def _after_the_last(halvings: Sequence[int]) -> tuple[int, ...]:
    return (*no_halvings(halvings[1:]), sum(halvings))


def _evenly(halvings: Sequence[int]) -> tuple[int, ...]:
    layers, total = len(halvings), sum(halvings)
    return tuple((layer + 1) * total // layers - layer * total // layers for layer in range(layers))


ENCODERS: Mapping[str, Member] = {
    "vanilla": Member(halvings=no_halvings, in_blocks=False),
    "blockwise": Member(halvings=no_halvings),
    "transpooler": Member(halvings=_after_the_last),
    "pyramidion": Member(halvings=_evenly),
    "deep_pyramidion": Member(halvings=tuple),
}
