"""Fits the second look of each field (`layoutray.document.second_look`) to the judged answers of labelled documents.

The weights are a compromise between the answers and no change at all: they pay for their squared distance from the
confidence as it is, so that a field with few wrong answers keeps its confidences. Strength and features were chosen on
training receipts of SROIE (docs/results/promise.md).
"""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layoutray.document.field_type import FieldType
from layoutray.document.second_look import NUM_FEATURES, features, probability
from layoutray.evaluation.fields import AnsweredDocument, JudgedAnswer, Schema, judge, normal_fields

_PRICE = 3.0
"""Of a squared change of a weight, in units of log likelihood; features have variance 1."""
_FOLDS = 10


def second_looks(
    documents: Sequence[AnsweredDocument], schema: Schema
) -> tuple[dict[str, FieldType], list[JudgedAnswer]]:
    """The fields with second looks, and the judged answers with confidences that were not fitted on their documents.

    Args:
        documents: answered without a second look.
    """
    having: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in schema}  # documents of each value
    for document in documents:
        for one in normal_fields(document.expected, schema):
            having[one.name][one.value].add(document.doc_id)
    looked, judged = dict(schema), list[JudgedAnswer]()
    for name, field in schema.items():
        answers = [
            (one.doc_id, answer) for one in documents for answer in judge([one], schema) if answer.answer.name == name
        ]
        if not answers:
            continue
        values = having[name]
        inputs = np.stack(
            [
                features(one.answer, field, [value for value, docs in values.items() if docs - {doc_id}])
                for doc_id, one in answers
            ]
        )
        right = np.array([one.correct for _, one in answers])
        folds = np.array([zlib.crc32(doc_id.encode()) % _FOLDS for doc_id, _ in answers])
        for fold in range(_FOLDS):
            weights = _fit(inputs[folds != fold], right[folds != fold])
            for number in np.flatnonzero(folds == fold):
                one, odds = answers[number][1], float(weights[0] + inputs[number] @ weights[1:])
                judged.append(replace(one, answer=replace(one.answer, confidence=probability(odds))))
        weights = tuple(map(float, _fit(inputs, right)))
        looked[name] = replace(field, second_look=weights, labelled_values=tuple(sorted(values)))
    return looked, judged


def _fit(inputs: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Intercept and weights of the features (answers, features)."""
    start = np.zeros(1 + NUM_FEATURES)
    start[1] = 1.0  # the log odds of the confidence as they are
    if not len(inputs):
        return start
    mean, scale = inputs.mean(0), inputs.std(0) + 1e-3
    mean[0], scale[0] = 0.0, 1.0
    known = np.column_stack([np.ones(len(inputs)), (inputs - mean) / scale])
    price = np.array([_PRICE / 4, *[_PRICE] * NUM_FEATURES])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds, change = known @ weights, weights - start
        value = np.logaddexp(0, np.where(right, -odds, odds)).sum() + (price * change**2).sum() / 2
        return float(value), known.T @ (1 / (1 + np.exp(-odds)) - right) + price * change

    from scipy.optimize import minimize  # takes half a second

    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    weights = found[1:] / scale
    return np.array([found[0] - weights @ mean, *weights])
