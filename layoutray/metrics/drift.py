"""A sequential test of whether documents have changed, with a stated rate of false alarms. It needs no labels.

Each signal of a document (a number) is ranked among those of reference documents: its p-value is the share of
documents, itself included, that are at least as unlike as it is. A bettor stakes a part of its wealth on p-values being
small. If documents are like the reference, the probability that its bet wins has a beta distribution, whatever the
distribution of the signal; the bet pays by the upper limit of this probability with confidence 0.95 (the
calibration-conditional p-values of Bates, Candès, Lei, Romano and Sesia, Testing for outliers with conformal p-values,
Annals of Statistics 2023, arXiv:2104.08279). So a bettor's wealth grows in no bet on average, for 95 % of the
references. P-values that are right on average over references alone would depend on each other: a reference by chance
unlike all later documents would raise the evidence for ever.

When documents changed is unknown. The evidence is that of a Shiryaev-Roberts e-detector: the sum of the wealths of
bettors who begin with 1 at each document. The mean of the evidence over bettors and signals is one again. It reaches a
threshold A after A documents or more on average (Shin, Ramdas and Rinaldo, E-detectors, arXiv:2203.03532, theorem 2.4):
an alarm at A is at most one false alarm in A documents. The change is estimated to begin where the wealth of the best
bettor has grown most since.

The confidence is that of each bettor, not of all together; docs/results/drift.md measures the rate of false alarms.
The alternative, to rank a document among all before it, has exact p-values (Vovk, Gammerman and Shafer, Algorithmic
Learning in a Random World, 2022), but makes a change usual before it is noticed: a tenth of changed documents.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

FALSE_ALARM_EVERY = 10_000
"""Documents between two false alarms, on average, at least."""
_BELOW = np.array([0.0, 0.02, 0.1, 0.3])
"""Each bettor wins at p-values up to this one; the first one only if no reference document is as unlike."""
_STAKE = np.array([0.1, 0.1, 0.5, 0.5])
"""The part of its wealth that each bettor stakes: on few documents that are very unlike, or many that are a little."""
_DOUBT = 0.05
_MOST_EVIDENCE = 1e100


class Bets:
    """The bets on the p-values of one signal.

    Args:
        reference: its values; at least one.
        upward: whether only high values are unlike; otherwise low ones are, too.
    """

    def __init__(self, reference: Sequence[float], upward: bool) -> None:
        self._sorted = sorted(reference)
        self._sides = 1 if upward else 2
        documents = len(reference) + 1
        ranks = np.maximum(self._sides, (_BELOW * documents).astype(int) // self._sides * self._sides)
        self._limits = ranks / documents
        wins = betaincinv(np.minimum(ranks, documents - 0.5), np.maximum(documents - ranks, 0.5), 1 - _DOUBT)
        self._pays = _STAKE / wins

    def p_value(self, value: float) -> float:
        """The share of documents that are at least as unlike as one with this value, which is one of them."""
        high, low = len(self._sorted) - bisect_left(self._sorted, value), bisect_right(self._sorted, value)
        unlike = high if self._sides == 1 else min(high, low)
        return min(1.0, self._sides * (unlike + 1) / (len(self._sorted) + 1))

    def factors(self, p_value: float) -> NDArray[np.float64]:
        """By what the wealth of each bettor is multiplied (bettors,)."""
        return 1 - _STAKE + self._pays * (p_value <= self._limits + 1e-9)


class DriftTest:
    """The evidence for a change in a sequence of documents.

    Args:
        reference: the values of each signal in documents before the sequence. A signal without values is ignored.
        upward: signals that are watched for high values only; of the others, high and low ones count.
    """

    def __init__(self, reference: Mapping[str, Sequence[float]], upward: Collection[str] = ()) -> None:
        self._bets = {name: Bets(values, name in upward) for name, values in reference.items() if values}
        self.documents = 0
        self._evidence = np.zeros((len(self._bets), len(_STAKE)))
        self._gained = np.zeros_like(self._evidence)
        self._begun = np.zeros(self._evidence.shape, int)

    @property
    def evidence(self) -> float:
        """Documents within which chance alone would give this evidence once, or more of them."""
        return float(self._evidence.mean()) if self._bets else 0.0

    def evidence_of(self) -> dict[str, float]:
        """The evidence that each signal shows; their mean is `evidence`."""
        return dict(zip(self._bets, map(float, self._evidence.mean(1)), strict=True))

    @property
    def begun(self) -> int:
        """How many documents of the sequence came before the change, as the strongest bettor tells."""
        return int(self._begun.flat[self._evidence.argmax()]) if self._bets else 0

    def to_json(self) -> dict[str, Any]:
        rows = np.stack([self._evidence, self._gained, self._begun], 1).tolist()
        return {"documents": self.documents, "signals": dict(zip(self._bets, rows, strict=True))}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Continue the test that `to_json` gave, if it has the same signals."""
        if self._bets and plain["signals"].keys() == self._bets.keys():
            rows = np.array([plain["signals"][name] for name in self._bets])
            self._evidence, self._gained, self._begun = rows[:, 0], rows[:, 1], rows[:, 2].astype(int)
            self.documents = plain["documents"]

    def add(self, values: Mapping[str, float]) -> dict[str, float]:
        """Add the next document. Returns its p-value of each signal; one that it does not have says nothing."""
        found = {name: bets.p_value(values[name]) for name, bets in self._bets.items() if name in values}
        if self._bets:
            none = np.ones(len(_STAKE))
            factors = np.stack([b.factors(found[name]) if name in found else none for name, b in self._bets.items()])
            self._evidence = np.minimum(factors * (self._evidence + 1), _MOST_EVIDENCE)
            lost = self._gained <= 0
            self._begun[lost] = self.documents
            self._gained = np.where(lost, 0, self._gained) + np.log(factors)
        self.documents += 1
        return found
