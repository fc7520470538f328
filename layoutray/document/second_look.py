"""A second look at an answer: how sure it is, compared with what else speaks for it and against it.

The odds that an answer is right are those of its confidence, changed by how well its words were read, by whether
documents that people have labelled have this value, by whether they have one that is nearly the same, which OCR may
have misread, and by whether the page has an amount that is nearly the same, before or after a rounding: a logistic
regression, whose weights `layoutray.evaluation.second_looks` fits.
"""

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from layoutray.document.answers import FieldAnswer
from layoutray.document.field_type import FieldType

NUM_FEATURES = 5
_NEAR = 85.0
"""Least similarity in percent of a value that is nearly the same, as in `known_values`."""
_SURE = 1e-4
"""Nearer to 0 and 1, probabilities are not told apart."""


def features(answer: FieldAnswer, field: FieldType, labelled: Collection[str]) -> NDArray[np.float64]:
    """Log odds of confidence and of reading; 0 or 1 for a labelled value, one that is nearly the same, a near amount.

    Amounts, dates and durations have no labelled values: that two documents have the same one says nothing.

    Args:
        labelled: normal forms of the values that labelled documents have.
    """
    words = field.type in ("text", "name", "address")
    known = words and answer.value in labelled
    near = words and not known and process.extractOne(answer.value, labelled, scorer=fuzz.ratio, score_cutoff=_NEAR)
    odds = _log_odds(answer.confidence), _log_odds(answer.reading_confidence)
    return np.array([*odds, known, bool(near), answer.near_amount], float)


def looked(answer: FieldAnswer, field: FieldType) -> float:
    """The confidence of an answer after a second look, 0..1; the one that it has if nothing was fitted."""
    if not field.second_look or answer.form_field:
        return answer.confidence
    intercept, *weights = field.second_look
    return probability(intercept + float(features(answer, field, field.labelled_values) @ np.array(weights)))


def probability(log_odds: float) -> float:
    """The probability, 0..1, with these log odds."""
    return 1 / (1 + math.exp(-log_odds))


def _log_odds(confidence: float) -> float:
    kept = min(max(confidence, _SURE), 1 - _SURE)
    return math.log(kept / (1 - kept))
