"""Where a checkpoint's Skim-Attention looks from some words of a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from layoutray import architectures, registry
from layoutray.architectures import Architecture
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.tensors import Skims


@dataclass(frozen=True)
class UnitAttention:
    """Attention from a unit: some words of a page, as a title.

    Attributes:
        words: share of the unit's attention that each word of the page gets; 0 where no token of the unit can see the word. What is
            missing to 1 goes to the start and end tokens.
        tokens: how many the unit has, over which `words` is averaged.
        heads: likewise.
    """

    words: Float[np.ndarray, "words"]
    tokens: int
    heads: int


@torch.inference_mode()
def attention_from(unit: Sequence[int], page: Page, loaded: Checkpoint) -> UnitAttention:
    """The mean over heads and over the tokens of words `unit` (numbers on `page`, at least one), summed over each word's tokens.

    Tokens see their own window only, so that a page of several windows is seen as far as those reach that hold the unit.

    Raises:
        InputError: when the checkpoint's architecture has no Skim-Attention.
    """
    encoder = loaded.model.encoder
    if not isinstance(encoder, Skims):
        raise InputError(f"{loaded.recipe.arch} has no Skim-Attention to draw; take a checkpoint of {', '.join(_skimming())}")
    received, tokens, heads = np.zeros(len(page.words)), 0, 0
    for example in unlabelled(page, loaded.tokenizer, loaded.recipe.max_length):
        rows = np.isin(example.word_index, unit)
        if rows.any():
            attention = encoder.skim(collate([example], loaded.tokenizer.pad_id))[0].double().numpy()
            real = example.word_index >= 0
            np.add.at(received, example.word_index[real], attention[:, rows].mean(0).sum(0)[real])
            tokens, heads = tokens + int(rows.sum()), len(attention)
    return UnitAttention(received / tokens, tokens, heads)


def _skimming() -> list[str]:
    """Names of the architectures that have Skim-Attention."""
    names = registry.names(architectures.__name__, "ARCHITECTURE")
    return [name for name in names if _skims(architectures.load(name))]


def _skims(architecture: Architecture[Any]) -> bool:
    return isinstance(architecture.build(architecture.sizes["tiny"], vocab_size=1, pad_id=0), Skims)
