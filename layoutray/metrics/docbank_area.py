"""DocBank's score of a page layout: precision, recall and F1 by area ("DocBank", COLING 2020, arXiv:2006.01038, section 4.2).

Of all tokens of the whole set, the area of those whose true and predicted label is a class, over the area of those predicted
so (precision) or truly so (recall). Areas are plain sums, also where tokens overlap; an empty denominator gives 0. The paper
leaves open what average is the score: here it is the mean over the classes that truly occur.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AreaScore:
    """Shares 0..1."""

    precision: float
    recall: float
    f1: float


def area_scores(pages: Iterable[tuple[Sequence[float], Sequence[str], Sequence[str]]]) -> dict[str, AreaScore]:
    """The score of each class that is true or predicted anywhere and has an area, and under `macro` the mean over those that are true.

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
    return scores | {"macro": _mean([scores[name] for name, area in true.items() if area])}


def _score(correct: float, detected: float, true: float) -> AreaScore:
    precision, recall = correct / detected if detected else 0.0, correct / true if true else 0.0
    return AreaScore(precision, recall, 2 * precision * recall / (precision + recall) if correct else 0.0)


def _mean(scores: Sequence[AreaScore]) -> AreaScore:
    count = max(len(scores), 1)
    return AreaScore(
        sum(score.precision for score in scores) / count,
        sum(score.recall for score in scores) / count,
        sum(score.f1 for score in scores) / count,
    )
