"""Thresholds of acceptance with a bound on the precision."""

import math

import numpy as np
import pytest

from layoutray.metrics.acceptance import acceptance_threshold, fewest_answers, highest_precision, proportion


def test_the_fewest_answers_without_error_show_the_precision() -> None:
    count = fewest_answers(0.99, 0.1)
    assert count == 230
    assert 0.99**count <= 0.1 < 0.99 ** (count - 1)
    assert highest_precision(count, 0.1) >= 0.99 > highest_precision(count - 1, 0.1)
    assert highest_precision(0, 0.1) == 0


def test_the_threshold_is_the_lowest_confidence_that_still_shows_the_precision() -> None:
    confidences = np.linspace(1, 0.01, 100)
    correct = np.arange(100) < 60
    threshold = acceptance_threshold(confidences, correct, 0.9, 0.1)
    assert threshold is not None
    accepted = confidences >= threshold
    wrong = int((~correct[accepted]).sum())
    tail = sum(math.comb(accepted.sum(), k) * 0.1**k * 0.9 ** (accepted.sum() - k) for k in range(wrong + 1))
    assert tail <= 0.1
    assert accepted.sum() == 62


def test_errors_among_the_most_confident_answers_leave_no_threshold() -> None:
    confidences = np.linspace(1, 0.5, 300)
    correct = np.ones(300, np.bool_)
    assert acceptance_threshold(confidences, correct, 0.99, 0.1) == pytest.approx(0.5)
    correct[0] = False
    assert acceptance_threshold(confidences, correct, 0.99, 0.1) is None
    assert acceptance_threshold(confidences[:229], correct[:229], 0.99, 0.1) is None
    assert acceptance_threshold(np.zeros(0), np.zeros(0, np.bool_), 0.99, 0.1) is None


def test_answers_of_equal_confidence_are_accepted_together() -> None:
    confidences = np.repeat([0.9, 0.8], [22, 10])
    correct = np.repeat([True, False], [22, 10])
    assert acceptance_threshold(confidences, correct, 0.9, 0.1) == 0.9
    assert acceptance_threshold(np.full(32, 0.9), correct, 0.9, 0.1) is None


def test_the_stated_risk_holds() -> None:
    """Of many samples with a true precision just below the wanted one, few accept anything."""
    generator = np.random.default_rng(1)
    accepts = 0
    for _ in range(400):
        correct = generator.random(200) < 0.89
        accepts += acceptance_threshold(generator.random(200), correct, 0.9, 0.1) is not None
    assert accepts / 400 <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 400)


def test_an_interval_contains_its_share() -> None:
    found = proportion(9, 10)
    assert (found.share, found.count) == (0.9, 10)
    assert found.low == pytest.approx(0.55498, abs=1e-5)
    assert found.high == pytest.approx(0.99747, abs=1e-5)
    empty = proportion(0, 0)
    assert (empty.low, empty.high) == (0, 1)
    assert math.isnan(empty.share)
