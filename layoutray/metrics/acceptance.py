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
from scipy import stats


@dataclass(frozen=True, slots=True)
class BoundedShare:
    """The share of `right` of `count` answers, with bounds: exact by Clopper and Pearson, 95 %."""

    right: int
    count: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """From 0 to 1; NaN without answers."""
        return self.right / self.count if self.count else math.nan


def interval(right: int, count: int) -> BoundedShare:
    """The share with its bounds; without answers, the bounds are 0 and 1."""
    if not count:
        return BoundedShare(0, 0, 0.0, 1.0)
    bounds = stats.binomtest(right, count).proportion_ci(0.95, "exact")
    return BoundedShare(right, count, bounds.low, bounds.high)


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
    order = np.argsort(-confidences, kind="stable")
    # A threshold accepts all answers of equal confidence, or none of them.
    accepted = np.flatnonzero(np.diff(confidences[order], append=-np.inf)) + 1
    wrong = np.cumsum(~correct[order])[accepted - 1]
    starts = _starts(len(confidences), precision, risk)
    probabilities = stats.binom.cdf(wrong, accepted, 1 - precision)
    passed = 0
    for start in starts:
        series = accepted >= start
        failures = np.flatnonzero(probabilities[series] > risk / len(starts))
        shown = accepted[series][: failures[0]] if len(failures) else accepted[series]
        passed = max(passed, int(shown[-1]) if len(shown) else 0)
    return float(confidences[order][passed - 1]) if passed else None


def _starts(count: int, precision: float, risk: float) -> list[int]:
    """The numbers of accepted answers, of `count`, at which a series of tests starts."""
    series = 1
    while fewest_answers(precision, risk / (series + 1)) * 2**series <= count:
        series += 1
    fewest = fewest_answers(precision, risk / series)
    return [fewest * 2**number for number in range(series)]
