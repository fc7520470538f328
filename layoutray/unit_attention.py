"""Where a checkpoint's attention goes from some words of a page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from layoutray import architectures, registry
from layoutray.architectures import Architecture
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.tensors import HasLayerAttention, Batch, HasSkimAttention


@dataclass(frozen=True)
class UnitAttention:
    """Attention from a unit: some words of a page, as a title.

    Attributes:
        words: share of the unit's attention that each word of the page gets; 0 where no token of the unit can see the word. What is
            missing to 1 goes to tokens of no word: the start, the end, and a global token.
        tokens: how many the unit has, over which `words` is averaged.
        heads: likewise.
    """

    words: Float[np.ndarray, "words"]
    tokens: int
    heads: int


@torch.inference_mode()
def attention_from(unit: Sequence[int], page: Page, loaded: Checkpoint, layer: int | None = None) -> UnitAttention:
    """The mean over heads and over the tokens of words `unit` (numbers on `page`, at least one), summed over each word's tokens.

    Tokens see their own window only, so that a page of several windows is seen as far as those reach that hold the unit.

    Args:
        layer: counted from 0, of an encoder whose layers have attention of their own; by default the last.

    Raises:
        InputError: when the checkpoint's architecture shows no attention, or not that of such a layer.
    """
    attend = _attention(loaded, layer)
    received, tokens, heads = np.zeros(len(page.words)), 0, 0
    for example in unlabelled(page, loaded.tokenizer, loaded.recipe.max_length):
        rows = np.isin(example.word_index, unit)
        if rows.any():
            attention = attend(collate([example], loaded.tokenizer.pad_id))[0].double().numpy()
            real = example.word_index >= 0
            np.add.at(received, example.word_index[real], attention[:, rows].mean(0).sum(0)[real])
            tokens, heads = tokens + int(rows.sum()), len(attention)
    return UnitAttention(received / tokens, tokens, heads)


def _attention(loaded: Checkpoint, layer: int | None) -> Callable[[Batch], Float[Tensor, "batch heads length length"]]:
    encoder = loaded.model.encoder
    if isinstance(encoder, HasSkimAttention):
        if layer is not None:
            raise InputError(
                f"layer is {layer}; {loaded.recipe.arch} has one attention for all its layers, so leave it out"
            )
        return encoder.skim
    if isinstance(encoder, HasLayerAttention):
        return partial(encoder.attention, layer=len(encoder.layers) - 1 if layer is None else layer)
    raise InputError(f"{loaded.recipe.arch} shows no attention to draw; take a checkpoint of {', '.join(_showing())}")


def _showing() -> list[str]:
    """Names of the architectures that show their attention."""
    names = registry.names(architectures.__name__, "ARCHITECTURE")
    return [name for name in names if isinstance(_tiny(architectures.load(name)), HasSkimAttention | HasLayerAttention)]


def _tiny(architecture: Architecture[Any]) -> nn.Module:
    return architecture.build(architecture.sizes["tiny"], vocab_size=1, pad_id=0)
