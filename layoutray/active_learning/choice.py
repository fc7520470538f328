"""Choose documents one after the other, so that each uncertain document is similar to one that is labelled or chosen.

A set of documents is worth the sum, over all candidates, of a candidate's uncertainty times its similarity to the most
similar document that is chosen or labelled already; the next document is the one that adds most. This is the facility
location function by which Wei, Iyer and Bilmes (Submodularity in Data Subset Selection and Active Learning, ICML 2015)
choose among uncertain examples, here with the uncertainty as weights, so that an outlier counts for itself alone. The
greedy choice is worth at least 1 - 1/e of the best one.

The similarity is the cosine of the mean encoder states, 0 if negative. The mean of all documents is subtracted first,
because states of a transformer have a large common part.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutray.active_learning.reading import ReadDocument

_COMPARED = 5000
"""The most uncertain candidates, which are compared with each other; the others are left out. They bound the memory."""


@dataclass(frozen=True, slots=True)
class ChosenDocument:
    """A chosen document.

    Attributes:
        similarity: to the most similar one of the labelled documents and those chosen before it, 0..1; 0 without any.
    """

    document: ReadDocument
    similarity: float


def choose(candidates: Sequence[ReadDocument], labelled: Sequence[ReadDocument], count: int) -> list[ChosenDocument]:
    """The first `count` candidates, in the order in which they are chosen.

    Args:
        labelled: documents that are labelled already.
        count: at most the number of candidates.
    """
    compared = sorted(candidates, key=lambda read: -read.uncertainty)[: max(_COMPARED, count)]
    states = np.array([read.state for read in (*compared, *labelled)])
    states -= states.mean(0)
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    directions = states / np.where(lengths > 0, lengths, 1)  # 0 for a state that equals the mean
    own, known = directions[: len(compared)], directions[len(compared) :]
    similarity = np.maximum(own @ own.T, 0)
    np.fill_diagonal(similarity, 1)  # also of a document whose state is the mean, which has no direction
    uncertainty = np.array([read.uncertainty for read in compared], np.float32)
    nearest = np.maximum((own @ known.T).max(1, initial=0), 0)
    left = np.ones(len(compared), np.bool_)
    chosen: list[ChosenDocument] = []
    for _ in range(count):
        gains = uncertainty @ np.maximum(similarity - nearest[:, None], 0)
        best = int(np.where(left, gains, -1).argmax())
        chosen.append(ChosenDocument(compared[best], float(nearest[best])))
        left[best] = False
        nearest = np.maximum(nearest, similarity[:, best])
    return chosen
