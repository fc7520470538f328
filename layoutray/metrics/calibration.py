"""Calibration of confidences: reliability bins, calibration error, acceptance thresholds and temperature scaling.

Expected calibration error and temperature scaling follow Guo et al. (arXiv:1706.04599, sections 2 and 4.2). Departure:
bins hold equal numbers of answers instead of having equal widths, because most confidences are close to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

_BINS = 10
_MAX_TEMPERATURE = 10.0
"""Temperatures are limited to 1/10 … 10. Beyond this range, confidences carry no information."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of similar confidence.

    Attributes:
        count: number of answers.
        confidence: their mean confidence, 0..1.
        accuracy: share of correct answers, 0..1.
    """

    count: int
    confidence: float
    accuracy: float


def bins(confidences: NDArray[np.floating], correct: NDArray[np.bool_]) -> list[Bin]:
    """Answers in 10 bins by rising confidence. The sizes of bins differ by at most one; empty bins are omitted.

    Answers of equal confidence on both sides of a border are split so that both parts have the same accuracy.
    """
    values, which, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    accuracies = np.bincount(which, weights=correct) / counts
    ordered = np.repeat(np.stack([values, accuracies], 1), counts, axis=0)
    return [Bin(len(part), *map(float, part.mean(0))) for part in np.array_split(ordered, _BINS) if len(part)]


def calibration_error(parts: Sequence[Bin]) -> float:
    """Mean absolute difference of confidence and accuracy of bins, weighted by count; 0 without answers."""
    total = sum(part.count for part in parts)
    return math.fsum(part.count * abs(part.confidence - part.accuracy) for part in parts) / total if total else 0.0


def accepted_share(confidences: NDArray[np.floating], correct: NDArray[np.bool_], precision: float) -> float:
    """The largest share of answers, 0..1, that a confidence threshold accepts with a precision of at least `precision`.

    0 when no threshold has that precision.
    """
    accepted, right = by_threshold(confidences, correct)
    enough = accepted[right / accepted >= precision]
    return float(enough.max(initial=0)) / max(len(confidences), 1)


def best_threshold(scores: NDArray[np.floating], correct: NDArray[np.bool_], expected: int) -> float:
    """The score threshold with the highest F1 of the accepted answers, halfway between two of `scores`.

    0 when accepting all answers is best. Of several best thresholds, the lowest.

    Args:
        scores: of the answers, above 0.
        correct: whether each answer is correct.
        expected: number of expected answers, including those that were not found.
    """
    if not len(scores):
        return 0.0
    accepted, right = by_threshold(scores, correct)
    f1 = 2 * right / (accepted + expected)
    most = accepted[np.flatnonzero(f1 == f1.max())[-1]]
    falling = -np.sort(-scores)
    return 0.0 if most == len(falling) else float(falling[most - 1] + falling[most]) / 2


def by_threshold(scores: NDArray[np.floating], correct: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of accepted answers and of correct ones among them, for each threshold from the highest on."""
    order = np.argsort(-scores)
    # A threshold accepts either all answers of one score or none of them.
    accepted = np.flatnonzero(np.diff(scores[order], append=-np.inf)) + 1
    return accepted, np.cumsum(correct[order], dtype=np.intp)[accepted - 1]


def temperature(logits: NDArray[np.floating], gold: NDArray[np.integer]) -> float:
    """The divisor of `logits`, 0.1..10, that minimises the mean log-loss of the true labels.

    1 when the highest logit is always that of the true label: lower temperatures would reduce the loss without end.

    Args:
        logits: (answers, labels).
        gold: number of the true label of each answer.
    """
    if (logits.argmax(1) == gold).all():
        return 1.0

    def loss(log_temperature: float) -> float:
        likelihoods = np.take_along_axis(log_softmax(logits * math.exp(-log_temperature), axis=1), gold[:, None], 1)
        return -float(likelihoods.mean(dtype=np.float64))

    # The loss is convex in the factor of the logits, so it has a single minimum over the logarithm of that factor too.
    limit = math.log(_MAX_TEMPERATURE)
    from scipy.optimize import minimize_scalar  # takes half a second, and a process that answers needs none

    return math.exp(minimize_scalar(loss, bounds=(-limit, limit), method="bounded").x)
