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
from layoutray.metrics.bootstrap import Estimate, Interval, draws

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
"""Words, pairs of adjacent words, longest common subsequence of the whole texts, and of their lines."""


@dataclass(frozen=True, slots=True)
class RougeScore:
    """Each 0..1."""

    precision: float
    recall: float
    f1: float


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
    """The mean F1 of documents by kind, with its interval; the same seed draws the same documents.

    Raises:
        InputError: when there is no document.
    """
    if not scores:
        raise InputError(
            "no document has a summary, so there is no mean score; choose a split whose documents have summaries"
        )
    values = np.array([[score[kind].f1 for kind in KINDS] for score in scores])
    resampled = values[draws(len(values), seed)].mean(1)
    return {
        kind: Estimate(float(values[:, column].mean()), resampled[:, column]).interval
        for column, kind in enumerate(KINDS)
    }
