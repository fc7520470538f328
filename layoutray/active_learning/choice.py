"""Choose documents one after the other: an uncertain one that is not similar to those before it.

The next document is the one with the highest product of its uncertainty and its distance to the nearest document that
is labelled or already chosen. This is the farthest-first traversal of k-center, which Sener and Savarese
(arXiv:1708.00489) use for active learning, weighted by uncertainty. The distance is 1 minus the cosine of the mean
encoder states, from which the mean of all documents is subtracted, because states of a transformer have a large common
part.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutray.active_learning.reading import ReadDocument


@dataclass(frozen=True, slots=True)
class ChosenDocument:
    """A chosen document.

    Attributes:
        similarity: to the most similar one of the labelled documents and those chosen before it, -1..1; None for the
            first document if none is labelled.
    """

    document: ReadDocument
    similarity: float | None


def choose(candidates: Sequence[ReadDocument], labelled: Sequence[ReadDocument], count: int) -> list[ChosenDocument]:
    """The first `count` candidates, in the order in which they are chosen.

    Args:
        labelled: documents that are labelled already.
        count: at most the number of candidates.
    """
    directions = _directions([*candidates, *labelled])
    own = directions[: len(candidates)]
    uncertainty = np.array([read.uncertainty for read in candidates])
    similarity = np.full(len(candidates), -np.inf)
    for known in directions[len(candidates) :]:
        similarity = np.maximum(similarity, own @ known)
    left = np.ones(len(candidates), np.bool_)
    chosen: list[ChosenDocument] = []
    for _ in range(count):
        gains = uncertainty * (1 - np.maximum(similarity, -1))
        best = int(np.where(left, gains, -np.inf).argmax())
        nearest = float(similarity[best])
        chosen.append(ChosenDocument(candidates[best], nearest if np.isfinite(nearest) else None))
        left[best] = False
        similarity = np.maximum(similarity, own @ own[best])
    return chosen


def _directions(documents: Sequence[ReadDocument]) -> NDArray[np.float32]:
    """The mean states (documents, width) relative to their own mean, with length 1 (0 for a state that equals it)."""
    states = np.array([read.state for read in documents])
    states -= states.mean(0)
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    return states / np.where(lengths > 0, lengths, 1)
