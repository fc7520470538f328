"""ROUGE: overlap of a summary with reference summaries in words, word pairs and common subsequences (Lin, 2004).

Scores are those of the package rouge-score, which lower-cases words and removes everything but letters and digits. When
a document has several references, the best score counts, separately for each kind. Confidence intervals of the mean
over documents come from a bootstrap.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from layoutray.errors import InputError
from layoutray.metrics.bootstrap import Estimate, Interval, draws

if TYPE_CHECKING:
    from rouge_score.scoring import Score

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
"""Words, pairs of adjacent words, longest common subsequence of the whole texts, and of their lines."""


def rouge(written: str, references: Sequence[str], *, stemmer: bool = False) -> "dict[str, Score]":
    """Scores of a text by kind, each against the reference with the best F1: precision, recall and `fmeasure`, 0..1.

    Args:
        stemmer: remove English word endings before the comparison.

    Raises:
        InputError: when there is no reference.
    """
    if not references:
        raise InputError("a text has no reference to be compared with; give at least one")
    # Imported here: it loads nltk, which takes half a second, and evaluations without summaries do not need it.
    from rouge_score.rouge_scorer import RougeScorer

    return cast(Any, RougeScorer(KINDS, use_stemmer=stemmer)).score_multi(references, written)


def mean_f1(scores: "Sequence[dict[str, Score]]") -> dict[str, Interval]:
    """The mean F1 of documents by kind, with its interval. Raises InputError when there is no document."""
    if not scores:
        raise InputError(
            "no document has a summary, so there is no mean score; choose a split whose documents have summaries"
        )
    values = np.array([[score[kind].fmeasure for kind in KINDS] for score in scores])
    resampled = values[draws(len(values))].mean(1)
    return {
        kind: Estimate(float(values[:, column].mean()), resampled[:, column]).interval
        for column, kind in enumerate(KINDS)
    }
