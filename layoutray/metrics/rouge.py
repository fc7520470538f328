"""ROUGE: overlap of a summary with reference summaries in words, word pairs and common subsequences (Lin, 2004).

Scores are those of the package rouge-score, which lower-cases words and removes everything but letters and digits. When
a document has several references, the best score counts, separately for each kind. Confidence intervals of the mean
over documents come from a bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from layoutray.errors import InputError

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
"""Words, pairs of adjacent words, longest common subsequence of the whole texts, and of their lines."""

_RESAMPLES = 1000
_PERCENTILES = 2.5, 97.5


@dataclass(frozen=True, slots=True)
class RougeScore:
    """Each 0..1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % bootstrap interval, over documents drawn with replacement."""

    mean: float
    low: float
    high: float


def rouge(written: str, references: Sequence[str], *, stemmer: bool = False) -> dict[str, RougeScore]:
    """Scores of a text by kind, each against the reference with the best F1.

    Args:
        stemmer: remove English word endings before the comparison.

    Raises:
        InputError: when there is no reference.
    """
    if not references:
        raise InputError("a text has no reference to be compared with; give at least one")
    # Imported here: it loads nltk, which takes half a second, and evaluations without summaries do not need it.
    from rouge_score.rouge_scorer import RougeScorer

    scores = cast(dict[str, Any], RougeScorer(KINDS, use_stemmer=stemmer).score_multi(references, written))
    return {kind: RougeScore(score.precision, score.recall, score.fmeasure) for kind, score in scores.items()}


def mean_f1(scores: Sequence[dict[str, RougeScore]], *, seed: int = 0) -> dict[str, Interval]:
    """The mean F1 of documents by kind; the same seed draws the same documents for the intervals.

    Raises:
        InputError: when there is no document.
    """
    if not scores:
        raise InputError(
            "no document has a summary, so there is no mean score; choose a split whose documents have summaries"
        )
    values = np.array([[score[kind].f1 for kind in KINDS] for score in scores])
    drawn = np.random.default_rng(seed).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(1), _PERCENTILES, axis=0)
    return {kind: Interval(*map(float, bounds)) for kind, *bounds in zip(KINDS, values.mean(0), low, high, strict=True)}
