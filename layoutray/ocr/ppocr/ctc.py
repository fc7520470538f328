"""From the scores of a CTC network to characters with positions, restricted to an alphabet."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BLANK = 0
"""Class of the CTC blank."""
SPACE = " "
LEAST_SPACE = 0.1
"""Least probability of a space that separates two words."""
DOTTED, DOTLESS = "i", "ı"
_LEAST_DOTLESS = 0.005
"""Least probability of ı, as a share of that of i, that is an ı. The networks have seen few texts with this letter: on
Turkish pages the share is at most 0.001 for an i, and at least 0.006 for an ı."""
_LEAST = 1e-8
"""Least probability of a class, so that logarithms stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """One character of a line.

    Attributes:
        start, end: its first time step, and the one after its last.
        confidence: its probability among the characters of the alphabet, 0..1.
        space_before: largest probability of a space since the previous character, 0..1.
    """

    text: str
    start: int
    end: int
    confidence: float
    space_before: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a network read in a line.

    Attributes:
        characters: without spaces.
        scores: probabilities (time steps, classes of the alphabet) over the width of the line.
        classes: the class of each character of the alphabet.
    """

    characters: Sequence[Character]
    scores: NDArray[np.float32]
    classes: Mapping[str, int]

    @property
    def confidence(self) -> float:
        """Mean over the characters, 0..1; 0 without characters."""
        return sum(one.confidence for one in self.characters) / len(self.characters) if self.characters else 0.0

    @property
    def text(self) -> str:
        """The characters, without spaces."""
        return "".join(one.text for one in self.characters)

    @property
    def certainty(self) -> float:
        """Probability of the least certain decision, 0..1; 0 without characters.

        Decisions are each character, a space or none before each but the first, and that no other character stands
        between two. The last one shows characters that were missed. A space of the probability `LEAST_SPACE` is the
        least certain one.
        """
        if not self.characters:
            return 0.0
        others = self.scores.copy()
        others[:, [BLANK, self.classes[SPACE]]] = 0.0
        before, end = BLANK, 0
        for one in self.characters:
            others[end : one.start, [before, self.classes[one.text]]] = 0.0
            others[one.start : one.end] = 0.0
            before, end = self.classes[one.text], one.end
        others[end:, before] = 0.0
        spaces = (_balanced(one.space_before) for one in self.characters[1:])
        certain = (max(space, 1.0 - space) for space in spaces)
        return min(1.0 - float(others.max()), *certain, *(one.confidence for one in self.characters))

    def with_confidence(self, mean: float) -> "Reading":
        """The reading with the confidences of its characters scaled to the mean `mean`."""
        scale = mean / self.confidence if self.confidence else 0.0
        return replace(
            self, characters=[replace(one, confidence=min(one.confidence * scale, 1.0)) for one in self.characters]
        )

    def column(self, character: Character) -> float:
        """The centre of a character as a share of the line's width, 0..1."""
        return (character.start + character.end) / 2 / len(self.scores)

    def steps_around(self, characters: range) -> slice:
        """The time steps of some characters, and those to the neighbours on both sides."""
        start = self.characters[characters.start - 1].end if characters.start else 0
        last = characters.stop == len(self.characters)
        return slice(start, len(self.scores) if last else self.characters[characters.stop].start)

    def can_spell(self, text: str) -> bool:
        return all(character in self.classes for character in text)

    def log_probability(self, text: str, steps: slice) -> float:
        """Logarithm of the probability that the line says `text` in `steps`, summed over all alignments.

        The forward algorithm of CTC (Graves et al., 2006, section 4.1).
        """
        labels = np.zeros(2 * len(text) + 1, np.intp)
        labels[1::2] = [self.classes[character] for character in text]
        scores = np.log(np.maximum(self.scores[steps][:, labels], _LEAST))
        # A step forward by two labels skips a blank, which must stand between equal characters.
        skips = (labels[2:] != BLANK) & (labels[2:] != labels[:-2])
        forward = np.full(len(labels), -np.inf)
        forward[:2] = scores[0, :2]
        for step in scores[1:]:
            before = forward
            forward = before.copy()
            forward[1:] = np.logaddexp(forward[1:], before[:-1])
            forward[2:] = np.logaddexp(forward[2:], np.where(skips, before[:-2], -np.inf))
            forward += step
        return float(np.logaddexp.reduce(forward[-2:]))


def _balanced(space: float) -> float:
    """The probability of a space with the odds multiplied, so that `LEAST_SPACE` becomes one half."""
    yes, no = (1.0 - LEAST_SPACE) * space, LEAST_SPACE * (1.0 - space)
    return yes / (yes + no)


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
        self._classes = {text: number for number, text in enumerate(self._texts)}

    def decode(self, probabilities: NDArray[np.float32]) -> Reading:
        """What one line says, by probabilities (time steps, classes) over its width."""
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
            if text == DOTTED and self._is_dotless(scores[start:end]):
                text = DOTLESS
            space = scores[read_until:start, self._classes[SPACE]].max(initial=0.0)
            characters.append(
                Character(
                    text=text,
                    start=start,
                    end=end,
                    confidence=float(confidence[start:end].max()),
                    space_before=float(space),
                )
            )
            read_until = end
        return Reading(characters, scores, self._classes)

    def _is_dotless(self, scores: NDArray[np.float32]) -> bool:
        """Whether a character that was read as i (steps, classes) is ı, if that is in the alphabet."""
        if DOTLESS not in self._classes:
            return False
        dotless, dotted = scores[:, [self._classes[DOTLESS], self._classes[DOTTED]]].max(axis=0)
        return bool(dotless >= _LEAST_DOTLESS * dotted)
