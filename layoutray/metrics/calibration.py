"""How far stated confidences can be believed, and what makes those of a classifier more believable.

Calibration error and temperature scaling are those of Guo et al. (arXiv:1706.04599, sections 2 and 4.2), but for the bins: they hold
equal numbers of answers, as confidences crowd near 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

_BINS = 10
_HOTTEST = 10.0
"""Temperatures are between one by this and this: further out, a set says that confidences mean nothing, not how much they mean."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about the same confidence.

    Attributes:
        count: of the answers.
        confidence: their mean, 0..1.
        accuracy: the share of them that is right.
    """

    count: int
    confidence: float
    accuracy: float


def bins(confidences: NDArray[np.floating], correct: NDArray[np.bool_]) -> list[Bin]:
    """Answers by rising confidence in 10 bins of as many, to within one; fewer where there are fewer answers.

    Where a bin ends between answers of equal confidence, each side gets its part of those that are right.
    """
    values, which, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    accuracies = np.bincount(which, weights=correct) / counts
    ordered = np.repeat(np.stack([values, accuracies], 1), counts, axis=0)
    return [Bin(len(part), *map(float, part.mean(0))) for part in np.array_split(ordered, _BINS) if len(part)]


def calibration_error(found: Sequence[Bin]) -> float:
    """By how much mean confidence and accuracy of a bin differ, on average over all answers; 0 without any."""
    total = sum(one.count for one in found)
    return math.fsum(one.count * abs(one.confidence - one.accuracy) for one in found) / total if total else 0.0


def accepted_share(confidences: NDArray[np.floating], correct: NDArray[np.bool_], precision: float) -> float:
    """The largest share of answers that a threshold of confidence can accept with at least `precision` of them right; 0 where none can."""
    accepted, right = _by_threshold(confidences, correct)
    enough = accepted[right / accepted >= precision]
    return float(enough.max(initial=0)) / max(len(confidences), 1)


def best_threshold(scores: NDArray[np.floating], correct: NDArray[np.bool_], expected: int) -> float:
    """The score from which on answers are to be accepted so that their F1 is highest, halfway between two of `scores`.

    0 where all are to be accepted; where several thresholds do equally well, the lowest of them.

    Args:
        scores: of the answers, above 0.
        correct: which of the answers are right.
        expected: how many right answers there are, those not found included.
    """
    if not len(scores):
        return 0.0
    accepted, right = _by_threshold(scores, correct)
    f1 = 2 * right / (accepted + expected)
    most = accepted[np.flatnonzero(f1 == f1.max())[-1]]
    falling = -np.sort(-scores)
    return 0.0 if most == len(falling) else float(falling[most - 1] + falling[most]) / 2


def _by_threshold(
    scores: NDArray[np.floating], correct: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many answers each threshold accepts, from the highest on, and how many of these are right."""
    order = np.argsort(-scores)
    # A threshold takes all answers of one score, or none of them.
    accepted = np.flatnonzero(np.diff(scores[order], append=-np.inf)) + 1
    return accepted, np.cumsum(correct[order], dtype=np.intp)[accepted - 1]


def temperature(logits: NDArray[np.floating], gold: NDArray[np.integer]) -> float:
    """What `logits` (answers, labels) are to be divided by so that the mean log-loss of the labels `gold` (answers) is least, 0.1 to 10.

    1 where the highest logit is always that of the true label: the colder, the better would be its loss, down to nothing.
    """
    if (logits.argmax(1) == gold).all():
        return 1.0

    def loss(warmth: float) -> float:
        likelihoods = np.take_along_axis(log_softmax(logits * math.exp(-warmth), axis=1), gold[:, None], 1)
        return -float(likelihoods.mean(dtype=np.float64))

    # The loss is convex in what logits are multiplied by, so that over the logarithm too it falls to one least value.
    most = math.log(_HOTTEST)
    return math.exp(minimize_scalar(loss, bounds=(-most, most), method="bounded").x)
