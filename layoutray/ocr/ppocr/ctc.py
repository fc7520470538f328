"""From the scores of a CTC network to characters with positions, restricted to an alphabet."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BLANK = 0
"""Class of the CTC blank."""
SPACE = " "


@dataclass(frozen=True, slots=True)
class Character:
    """One character of a line.

    Attributes:
        column: centre of its time steps, as a share of the line's width, 0..1.
        confidence: its probability among the characters of the alphabet, 0..1.
        space_before: largest probability of a space since the previous character, 0..1.
    """

    text: str
    column: float
    confidence: float
    space_before: float


class Decoder:
    """Decodes greedily: the best class of each time step, repeats merged, blanks removed.

    Args:
        classes: the text of each class of the network; class 0 is the blank.
        alphabet: the characters that can occur; empty: all that the network knows.
    """

    def __init__(self, classes: Sequence[str], alphabet: Collection[str] = ()) -> None:
        allowed = [number for number, text in enumerate(classes) if number == BLANK or not alphabet or text in alphabet]
        self._allowed = np.array(allowed)
        self._texts = [classes[number] for number in allowed]
        self._space = self._texts.index(SPACE)

    def decode(self, probabilities: NDArray[np.float32]) -> list[Character]:
        """The characters of one line, without spaces.

        Args:
            probabilities: (time steps, classes) over the width of the line.
        """
        scores = probabilities[:, self._allowed]
        best = scores.argmax(axis=1)
        confidence = scores.max(axis=1) / np.maximum(scores.sum(axis=1), np.finfo(np.float32).tiny)
        starts = np.flatnonzero(np.diff(best, prepend=BLANK))
        characters: list[Character] = []
        read_until = 0
        for start, end in pairwise([*starts.tolist(), len(best)]):
            text = self._texts[best[start]]
            if best[start] == BLANK or text == SPACE:
                continue
            space = scores[read_until:start, self._space].max(initial=0.0)
            column = (start + end) / 2 / len(best)
            characters.append(Character(text, column, float(confidence[start:end].max()), float(space)))
            read_until = end
        return characters
