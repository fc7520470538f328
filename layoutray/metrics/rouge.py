"""ROUGE: how many words, pairs of words, and words in order a summary shares with one that a person wrote (Lin, 2004).

Scores are those of the package rouge-score, which takes words in lower case and letters and digits alone. Where a document has several
summaries the best counts, for each kind of score. Intervals are of the mean over documents, by bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from layoutray.errors import InputError

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
"""Words, pairs of neighbours, longest common subsequence of the whole texts, and of their lines."""

_RESAMPLES = 1000
_OUTSIDE = 2.5, 97.5


@dataclass(frozen=True, slots=True)
class RougeScore:
    """Each 0..1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the bounds that hold the middle 95 % of the means of documents drawn again with replacement."""

    mean: float
    low: float
    high: float


def rouge(written: str, references: Sequence[str], *, stemmer: bool = False) -> dict[str, RougeScore]:
    """Scores of a text by kind, each against the reference with the best F1.

    Args:
        stemmer: compare words without their English endings.

    Raises:
        InputError: without references.
    """
    if not references:
        raise InputError("a text needs at least one reference to be compared with")
    scores = cast(dict[str, Any], RougeScorer(KINDS, use_stemmer=stemmer).score_multi(references, written))
    return {kind: RougeScore(score.precision, score.recall, score.fmeasure) for kind, score in scores.items()}


def mean_f1(scores: Sequence[dict[str, RougeScore]], *, seed: int = 0) -> dict[str, Interval]:
    """The mean F1 of documents by kind; the same seed draws the same documents.

    Raises:
        InputError: without documents.
    """
    if not scores:
        raise InputError(
            "there are no documents to take the mean of; check the split, and that its documents have summaries"
        )
    values = np.array([[score[kind].f1 for kind in KINDS] for score in scores])
    drawn = np.random.default_rng(seed).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(1), _OUTSIDE, axis=0)
    return {kind: Interval(*map(float, bounds)) for kind, *bounds in zip(KINDS, values.mean(0), low, high, strict=True)}
