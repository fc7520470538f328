"""DocBank's layout score: precision, recall and F1 by area ("DocBank", COLING 2020, arXiv:2006.01038, section 4.2).

For each class over all tokens of a data set: the area of tokens whose true and predicted label is the class, divided by
the area of tokens predicted as the class (precision) or truly of the class (recall). Areas are plain sums, also of
overlapping tokens; an empty denominator gives 0. The paper does not say how classes are averaged: here the score is the
mean over the classes that occur in the truth.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class AreaScore(NamedTuple):
    """Shares 0..1; None if no area was detected (precision), none is true (recall), or neither (F1)."""

    precision: float | None
    recall: float | None
    f1: float | None


def area_scores(pages: Iterable[tuple[Sequence[float], Sequence[str], Sequence[str]]]) -> dict[str, AreaScore]:
    """The score of each true or predicted class, and under `macro` the mean over classes whose true area is not 0, to
    which a class that was not detected contributes 0.

    Args:
        pages: area, true and predicted label of each token; areas in any unit.
    """
    correct, detected, true = (defaultdict[str, float](float) for _ in range(3))
    for areas, gold, predicted in pages:
        for area, label, guess in zip(areas, gold, predicted, strict=True):
            true[label] += area
            detected[guess] += area
            correct[label] += area * (label == guess)
    scores = {name: _score(correct[name], detected[name], true[name]) for name in sorted(true.keys() | detected.keys())}
    averaged = [scores[name] for name, area in true.items() if area]
    shares = [[share or 0.0 for share in score] for score in averaged]
    return scores | {"macro": AreaScore(*np.mean(shares or [(0.0, 0.0, 0.0)], axis=0).tolist())}


def _score(correct: float, detected: float, true: float) -> AreaScore:
    precision, recall = correct / detected if detected else None, correct / true if true else None
    return AreaScore(precision, recall, 2 * correct / (detected + true) if detected + true else None)
