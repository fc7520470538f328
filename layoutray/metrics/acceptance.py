"""The confidence from which answers are accepted, so that a stated precision holds with a stated risk.

Answers are accepted by falling confidence. For a number of accepted answers, an exact binomial test asks whether so few
of them would be wrong if the precision were below the wanted one. A series of tests goes from few accepted answers to
all of them, and stops at the first that fails. Its order is fixed by the confidences alone, so the risk of the series
is that of one test. One wrong answer of high confidence ends a series that starts early. So several series start at
n, 2 n, 4 n, … answers, where n is the fewest that can pass, and share the risk. Source: fixed sequence testing,
Angelopoulos et al., Learn then Test, arXiv:2110.01052.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutray.errors import InputError
from layoutray.metrics.calibration import by_threshold


@dataclass(frozen=True, slots=True)
class Goal:
    """The precision that accepted answers must have.

    Attributes:
        precision: above 0 and below 1.
        risk: probability that the precision is lower nevertheless, above 0 and below 1.
    """

    precision: float = 0.99
    risk: float = 0.1

    def __post_init__(self) -> None:
        for name, value in (("precision", self.precision), ("risk", self.risk)):
            if not 0 < value < 1:
                raise InputError(f"{name} is {value}; it must be above 0 and below 1")


@dataclass(frozen=True, slots=True)
class Proportion:
    """The share of `right` of `count` answers, with bounds: exact by Clopper and Pearson, 95 %."""

    right: int
    count: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """From 0 to 1; NaN without answers."""
        return self.right / self.count if self.count else math.nan


def proportion(right: int, count: int) -> Proportion:
    """The share with its bounds; without answers, the bounds are 0 and 1.

    The quantiles of the beta distribution by `scipy.special`: importing `scipy.stats` takes two seconds.
    """
    if not count:
        return Proportion(0, 0, 0.0, 1.0)
    from scipy.special import betaincinv  # takes 0.2 s to import

    low = betaincinv(right, count - right + 1, 0.025) if right else 0.0
    high = betaincinv(right + 1, count - right, 0.975) if right < count else 1.0
    return Proportion(right, count, float(low), float(high))


def fewest_answers(precision: float, risk: float) -> int:
    """The fewest answers, all of them right, that show a precision of at least `precision` with the risk `risk`."""
    return math.ceil(math.log(risk) / math.log(precision))


def highest_precision(count: int, risk: float) -> float:
    """The precision that `count` answers, all of them right, show with the risk `risk`."""
    return risk ** (1 / count) if count else 0.0


def acceptance_threshold(
    confidences: NDArray[np.floating], correct: NDArray[np.bool_], precision: float, risk: float
) -> float | None:
    """The lowest confidence from which the precision of all answers is shown; None if it is shown for no confidence.

    Args:
        confidences: of the answers; they were not fitted on these answers.
        correct: whether each answer is right.
        precision: the wanted share of right answers among the accepted ones, above 0 and below 1.
        risk: probability that the precision is lower nevertheless, above 0 and below 1.
    """
    accepted, right = by_threshold(confidences, correct)
    series = 1
    while fewest_answers(precision, risk / (series + 1)) * 2**series <= len(confidences):
        series += 1
    fewest = fewest_answers(precision, risk / series)
    from scipy.special import bdtr  # takes 0.2 s to import

    probabilities = bdtr(accepted - right, accepted, 1 - precision)
    passed = 0
    for number in range(series):
        tested = accepted >= fewest * 2**number
        failures = np.flatnonzero(probabilities[tested] > risk / series)
        shown = accepted[tested][: failures[0]] if len(failures) else accepted[tested]
        passed = max(passed, int(shown[-1]) if len(shown) else 0)
    return float(-np.sort(-confidences)[passed - 1]) if passed else None
