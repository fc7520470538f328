"""Calibration against counts of single answers, and temperatures against those that generated the data."""

import math

import numpy as np
import pytest

from layoutray.metrics.calibration import Bin, accepted_share, best_threshold, bins, calibration_error, temperature

RANDOM = np.random.default_rng(5)


def judged(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences that all differ, and answers that are less often right than these say."""
    sure = RANDOM.permutation(np.linspace(0.2, 0.999, count))
    return sure, RANDOM.random(count) < sure**2


@pytest.mark.parametrize("count", [1, 7, 10, 11, 25, 200])
def test_the_error_is_that_of_bins_counted_by_hand(count: int) -> None:
    sure, right = judged(count)
    rows = sorted(zip(sure.tolist(), right.tolist(), strict=True))
    error, sizes, at = 0.0, [], 0
    for number in range(10):
        size = count // 10 + (number < count % 10)
        part = rows[at : at + size]
        if part:
            sizes.append(size)
            error += size / count * abs(sum(one for one, _ in part) / size - sum(one for _, one in part) / size)
        at += size
    assert [one.count for one in bins(sure, right)] == sizes
    assert calibration_error(bins(sure, right)) == pytest.approx(error)
    assert count < 25 or error > 0.05


def test_the_order_of_equally_confident_answers_does_not_matter() -> None:
    sure, right = np.full(40, 0.75), np.arange(40) < 30
    assert bins(sure, right) == bins(sure, right[::-1]) == [Bin(4, 0.75, 0.75)] * 10
    mixed = np.repeat(
        [0.5, 1.0], [5, 35]
    )  # the second bin has one answer of the former, and 25 of 35 of the latter are right
    expected = [Bin(4, 0.5, 1), Bin(4, 3.5 / 4, (1 + 3 * 25 / 35) / 4), *[Bin(4, 1, 25 / 35)] * 8]
    for order in (np.arange(40), RANDOM.permutation(40)):
        found = bins(mixed[order], right[order])
        assert [(one.count, one.confidence) for one in found] == [(one.count, one.confidence) for one in expected]
        assert [one.accuracy for one in found] == pytest.approx([one.accuracy for one in expected])


def test_no_answers_have_no_calibration_error() -> None:
    nothing = np.zeros(0), np.zeros(0, np.bool_)
    assert bins(*nothing) == []
    assert calibration_error([]) == 0
    assert accepted_share(*nothing, 0.99) == 0


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.99])
def test_the_accepted_share_is_that_of_the_best_threshold(precision: float) -> None:
    for count in (1, 3, 10, 60, 300):
        sure = np.round(RANDOM.random(count), 2)  # some are equally sure
        right = RANDOM.random(count) < sure**0.1
        shares = [0.0]
        for threshold in sure:
            taken = right[sure >= threshold]
            if taken.mean() >= precision:
                shares.append(len(taken) / count)
        assert accepted_share(sure, right, precision) == pytest.approx(max(shares))


def test_a_wrong_most_confident_answer_does_not_rule_out_lower_thresholds() -> None:
    sure, right = np.linspace(1, 0.5, 200), np.arange(200) > 0
    assert accepted_share(sure, right, 0.99) == 1
    assert accepted_share(sure[:99], right[:99], 0.99) == 0
    assert accepted_share(sure[:100], right[:100], 0.99) == 1, "99 of 100 are enough"


@pytest.mark.parametrize("truth", [0.4, 1.0, 2.5])
def test_the_temperature_that_generated_the_data_is_found(truth: float) -> None:
    logits = RANDOM.normal(size=(20_000, 5)) * 3
    shares = np.exp(logits / truth)
    gold = (RANDOM.random((20_000, 1)) > (shares / shares.sum(1, keepdims=True)).cumsum(1)).sum(1)
    assert temperature(logits, gold) == pytest.approx(truth, rel=0.05)


def test_no_other_temperature_has_less_loss() -> None:
    logits, gold = RANDOM.normal(size=(300, 4)).astype(np.float32) * 4, RANDOM.integers(4, size=300)

    def loss(tried: float) -> float:
        shares = np.exp(logits / tried)
        return -float(np.log((shares / shares.sum(1, keepdims=True))[np.arange(300), gold]).mean())

    gold = np.where(RANDOM.random(300) < 0.7, logits.argmax(1), gold)
    found = temperature(logits, gold)
    assert 1 < found < 10
    assert loss(found) == pytest.approx(min(loss(tried) for tried in np.geomspace(0.1, 10, 2000)), abs=1e-6)


def test_degenerate_logits_give_one_or_a_bound() -> None:
    logits = RANDOM.normal(size=(50, 3))
    assert temperature(logits, logits.argmax(1)) == 1, "all are right: no temperature is the best"
    assert temperature(logits[:0], np.zeros(0, np.int32)) == 1
    assert temperature(logits, logits.argmin(1)) == pytest.approx(10, rel=1e-3)
    assert math.isfinite(temperature(logits * 1e4, logits.argmin(1)))


def test_the_best_threshold_is_the_lowest_of_those_with_the_highest_f1() -> None:
    for count in (1, 2, 5, 30, 200):
        score = np.round(RANDOM.random(count) * 3 + 0.01, 1)  # some are equal
        right = RANDOM.random(count) < score / 3
        expected = int(right.sum()) + 2

        def f1(least: float, score: np.ndarray = score, right: np.ndarray = right, expected: int = expected) -> float:
            taken = score >= least
            return float(2 * (right & taken).sum() / (taken.sum() + expected))

        best = best_threshold(score, right, expected)
        tried = [0.0, *np.unique(score).tolist()]
        assert f1(best) == pytest.approx(max(map(f1, tried)))
        assert all(f1(least) < f1(best) for least in tried if least < best and (score[score < best] >= least).any())
    assert best_threshold(np.array([0.5, 0.25]), np.array([False, False]), 3) == 0, "nothing is gained by taking less"
    assert best_threshold(np.array([2.0, 1.0, 0.5]), np.array([True, True, False]), 2) == 0.75
    assert best_threshold(np.zeros(0), np.zeros(0, np.bool_), 3) == 0
