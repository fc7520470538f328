"""A lower bound of the share of right answers that holds at every time at once, however often one looks.

A betting confidence sequence for means of variables from 0 to 1: Waudby-Smith and Ramdas, Estimating means of bounded
random variables by betting, JRSS-B 2024, arXiv:2010.09686, sections 4 and 5. Against the hypothesis that the share is
at most m, wealth starts at 1. A document of which a share x of the judged answers is right multiplies the wealth by
c + (1 - c) · x / m: the part c is kept, the rest is bet. If the hypothesis holds, wealth grows in no bet on average, so
that it ever reaches 1 / risk with a probability of at most `risk` (Ville's inequality). The bound is the largest m
against which wealth is at least 1 / risk. Four bettors with different c share the first wealth, as in the paper's
diversified bets. They need no knowledge of the share, and their wealth does not depend on the order of the documents.

Departure: the bound is made of the wealth as it is now. That of the paper is made of the highest wealth so far, which
is valid too if the share never changes. This one falls when answers become wrong.
"""

import math

import numpy as np
from numpy.typing import NDArray

_KEPT = np.array([0.0, 0.1, 0.25, 0.5])
"""The part of the wealth that each bettor keeps. The first one bets everything: one wrong answer ruins it."""
_FIRST = np.array([0.5, 0.2, 0.2, 0.1])
"""The first wealth of each bettor."""


def log_wealth(right: NDArray[np.floating], share: float) -> NDArray[np.floating]:
    """The logarithm of the wealth against `share` after each document.

    Args:
        right: of each document (…, documents), the share of its judged answers that are right, 0..1.
        share: the hypothesis, above 0.
    """
    return np.logaddexp.reduce(np.log(_FIRST) + np.cumsum(_log_factors(right, share), axis=-2), axis=-1)


def lower_bound(right: NDArray[np.floating], risk: float) -> float:
    """The share of right answers, 0..1, that independent documents show with the risk `risk`; 0 if there are none.

    Args:
        right: of each document (documents,), the share of its judged answers that are right.
    """
    low, high = 0.0, 1.0
    for _ in range(40):  # wealth falls with the share
        middle = (low + high) / 2
        low, high = (middle, high) if is_shown(right, middle, risk) else (low, middle)
    return low


def is_shown(right: NDArray[np.floating], share: float, risk: float) -> bool:
    """Whether documents show that the share of right answers is above `share`, as `lower_bound` does."""
    return bool(len(right)) and log_wealth(right, share)[-1] >= -math.log(risk)


def more_needed(right: NDArray[np.floating], share: float, risk: float) -> int:
    """How many documents more, all of their answers right, show `share`, which is below 1; 0 if it is shown now."""
    wealth = np.log(_FIRST) + _log_factors(right, share).sum(axis=-2)
    gain = _log_factors(np.ones(1), share)[0]
    most = math.ceil(max(((-math.log(risk) - wealth) / gain).min(), 0))  # if there were one bettor only
    every = np.arange(most + 2)[:, None] * gain + wealth
    return int(np.argmax(np.logaddexp.reduce(every, axis=1) >= -math.log(risk)))


def _log_factors(right: NDArray[np.floating], share: float) -> NDArray[np.floating]:
    """By what each document multiplies the wealth of each bettor: (…, documents, bettors), as logarithms."""
    with np.errstate(divide="ignore"):  # of a ruined bettor
        return np.log(_KEPT + (1 - _KEPT) * right[..., None] / share)
