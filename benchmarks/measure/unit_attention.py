"""The attention of a checkpoint from a unit, i.e. a group of words of a page, to all words of the page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from layoutray import architectures, registry
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.tensors import Batch


@runtime_checkable
class HasSkimAttention(Protocol):
    """An encoder whose attention depends on layout alone and is shared by all its layers."""

    def skim(self, batch: Batch) -> Float[Tensor, "batch heads length length"]:
        """Attention probabilities; rows are queries, columns are keys."""
        ...


@runtime_checkable
class HasLayerAttention(Protocol):
    """An encoder that returns the attention of each of its layers."""

    layers: nn.ModuleList

    def attention(self, batch: Batch, layer: int) -> Float[Tensor, "batch heads length length"]:
        """Attention probabilities of layer `layer`, counted from 0; rows are queries, columns are keys.

        Raises:
            InputError: if there is no such layer.
        """
        ...


@dataclass(frozen=True)
class UnitAttention:
    """Attention from a unit: a group of words, e.g. a title.

    Attributes:
        words: share of the unit's attention to each word of the page; 0 if no token of the unit sees the word. The rest
            to 1 goes to tokens without a word: start, end and global tokens.
        tokens: number of tokens of the unit, over which `words` is averaged.
        heads: number of attention heads, over which `words` is averaged.
    """

    words: Float[np.ndarray, "words"]
    tokens: int
    heads: int


@torch.inference_mode()
def attention_from(unit: Sequence[int], page: Page, loaded: Checkpoint, layer: int | None = None) -> UnitAttention:
    """The attention of `unit`, averaged over heads and over the unit's tokens, and summed over the tokens of each word.

    Tokens only see their own window: on a page of several windows, attention is limited to the windows with words of
    the unit.

    Args:
        unit: numbers of words on `page`, at least one.
        layer: layer of an encoder whose layers have their own attention, counted from 0; the default is the last.

    Raises:
        InputError: if the checkpoint's architecture does not provide its attention or has no such layer.
    """
    attention_of = _attention_function(loaded, layer)
    received, tokens, heads = np.zeros(len(page.words)), 0, 0
    for example in unlabelled(page, loaded.tokenizer, loaded.recipe.max_length, loaded.recipe.find_neighbours):
        rows = np.isin(example.word_index, unit)
        if rows.any():
            attention = attention_of(collate([example], loaded.tokenizer.pad_id))[0].double().numpy()
            real = example.word_index >= 0
            np.add.at(received, example.word_index[real], attention[:, rows].mean(0).sum(0)[real])
            tokens, heads = tokens + int(rows.sum()), len(attention)
    return UnitAttention(received / tokens, tokens, heads)


def _attention_function(
    loaded: Checkpoint, layer: int | None
) -> Callable[[Batch], Float[Tensor, "batch heads length length"]]:
    encoder = loaded.model.encoder
    if isinstance(encoder, HasSkimAttention):
        if layer is not None:
            raise InputError(f"layer is {layer}; omit it: all layers of {loaded.recipe.arch} share one attention")
        return encoder.skim
    if isinstance(encoder, HasLayerAttention):
        return partial(encoder.attention, layer=len(encoder.layers) - 1 if layer is None else layer)
    providing: list[str] = []
    for name in registry.names(architectures.__name__, "ARCHITECTURE"):
        architecture = architectures.load(name)
        tiny = architecture.build(architecture.sizes["tiny"], vocab_size=1, pad_id=0)
        if isinstance(tiny, HasSkimAttention | HasLayerAttention):
            providing.append(name)
    raise InputError(
        f"architecture {loaded.recipe.arch} does not provide its attention; use a checkpoint of {', '.join(providing)}"
    )
