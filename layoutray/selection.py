"""Which words weigh most in what a model keeps of a document that pools its tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from layoutray.tensors import Encoded


@dataclass(frozen=True, slots=True)
class SelectedWord:
    """A word that dominates kept states: no token has a greater weight in them than one of its tokens.

    Attributes:
        number: of the word within the document, from 0.
        states: how many it dominates.
        weight: of those tokens in those states, summed up; above 0 and at most `states`.
    """

    number: int
    states: int
    weight: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Attributes:
    kept: states that are left after the last pooling; those that tokens of no word dominate, as the start, are among them.
    read: words of the document, from its beginning, that the model has read at least in part.
    words: in the order of the document.
    """

    kept: int
    read: int
    words: tuple[SelectedWord, ...]


def selections(encoded: Encoded, word_index: Sequence[Int[np.ndarray, " length"]]) -> Iterator[Selection]:
    """The selection of each document of a batch whose states have a mixture.

    Args:
        word_index: for each document, the word of each token, -1 for none.
    """
    assert encoded.mixture is not None, "a selection needs pooled states"
    greatest, places = encoded.mixture.weights.float().max(-1)
    tokens = encoded.mixture.tokens.gather(-1, places[..., None])[..., 0]
    for kept, weights, dominant, words in zip(encoded.mask, greatest, tokens, word_index, strict=True):
        yield _selection(words[dominant[kept].cpu().numpy()], weights[kept].cpu().numpy(), int(words.max()) + 1)


def _selection(words: Int[np.ndarray, " kept"], weights: np.ndarray, read: int) -> Selection:
    """Of states, by the word that dominates each, when so many words were read."""
    numbers, states = np.unique(words[words >= 0], return_counts=True)
    found = (
        SelectedWord(int(number), int(count), float(weights[words == number].sum()))
        for number, count in zip(numbers, states, strict=True)
    )
    return Selection(len(words), read, tuple(found))
