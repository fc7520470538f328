"""Which words have the largest weights in the states that a pooling encoder keeps of a document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from layoutray.tensors import Encoded


@dataclass(frozen=True, slots=True)
class SelectedWord:
    """A word that dominates at least one kept state: one of its tokens has the largest weight in the state.

    Attributes:
        number: number of the word within the document, from 0.
        states: number of states that the word dominates.
        weight: sum of the largest weights of these states; above 0 and at most `states`.
    """

    number: int
    states: int
    weight: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The words that dominate the kept states of a document.

    Attributes:
        kept: number of states after the last pooling, including states dominated by special tokens.
        read: number of words, from the start of the document, of which the model read at least one token.
        words: the dominating words, in the order of the document.
    """

    kept: int
    read: int
    words: tuple[SelectedWord, ...]


def selections(encoded: Encoded, word_index: Sequence[Int[np.ndarray, " length"]]) -> Iterator[Selection]:
    """The selection of each document of a batch.

    Args:
        encoded: states with a mixture.
        word_index: for each document, the word number of each token, -1 if it has none.
    """
    assert encoded.mixture is not None, "a selection needs pooled states"
    largest, positions = encoded.mixture.weights.float().max(-1)
    tokens = encoded.mixture.tokens.gather(-1, positions[..., None])[..., 0]
    for kept, weights, dominant, words in zip(encoded.mask, largest, tokens, word_index, strict=True):
        dominating, strength = words[dominant[kept].cpu().numpy()], weights[kept].cpu().numpy()
        numbers, states = np.unique(dominating[dominating >= 0], return_counts=True)
        selected = (
            SelectedWord(int(number), int(count), float(strength[dominating == number].sum()))
            for number, count in zip(numbers, states, strict=True)
        )
        yield Selection(len(dominating), int(words.max()) + 1, tuple(selected))
