"""Bootstrap intervals over documents and seeds (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993).

A system is trained with one or more seeds; each trained model answers the same documents. A resample draws seeds and
documents with replacement. All systems get the same draws, so that resamples of two systems are paired. With few seeds,
an interval understates how much the seed matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 1000
_PERCENTILES = 2.5, 97.5

Counts = NDArray[np.int64]
"""(seeds, documents, 3): numbers of correct, expected and answered items of each document."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic and its 95 % interval: the percentiles 2.5 and 97.5 of its resamples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A statistic and its values on the resamples (resamples,); NaN where a resample has no item."""

    value: float
    resampled: NDArray[np.float64]

    @property
    def interval(self) -> Interval:
        """Resamples without an item are ignored."""
        low, high = np.nanpercentile(self.resampled, _PERCENTILES)
        return Interval(self.value, float(low), float(high))

    def minus(self, other: "Estimate") -> "Estimate":
        """The paired difference to another statistic."""
        return Estimate(self.value - other.value, self.resampled - other.resampled)


def draws(size: int, seed: int = 0) -> NDArray[np.int64]:
    """Indices (resamples, size) of the items that each resample draws; a function of the arguments."""
    return np.random.default_rng(seed).integers(size, size=(_RESAMPLES, size))


def mean_of_seeds(values: Sequence[float]) -> Estimate:
    """The mean of a metric over the seeds; the resamples draw seeds only."""
    of_seeds = np.array(values)
    return Estimate(float(of_seeds.mean()), of_seeds[draws(len(values), seed=1)].mean(axis=1))


def f1(counts: Counts) -> Estimate:
    """The mean over the seeds of the F1 of all items of all documents, 0..1; NaN without any item."""
    seeds, documents = counts.shape[:2]
    times_drawn = np.stack([np.bincount(drawn, minlength=documents) for drawn in draws(documents)])
    of_seeds = _f1(np.einsum("rd,sdk->rsk", times_drawn, counts))
    resampled = np.take_along_axis(of_seeds, draws(seeds, seed=1), axis=1).mean(axis=1)
    return Estimate(float(_f1(counts.sum(axis=1)).mean()), resampled)


def _f1(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Twice the correct items over expected plus answered ones, from sums (…, 3); NaN without any."""
    correct, expected, answered = np.moveaxis(sums, -1, 0)
    items = expected + answered
    return np.divide(2 * correct, items, out=np.full(items.shape, np.nan), where=items > 0)
