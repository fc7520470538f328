"""Intervals of F1 over documents and seeds, and paired differences."""

import numpy as np
import pytest

from layoutray.metrics.bootstrap import f1, mean_of_seeds


def test_f1_is_the_mean_over_the_seeds_of_the_f1_of_all_items() -> None:
    counts = np.array([[[1, 2, 1], [2, 2, 3]], [[0, 2, 0], [2, 2, 2]]])
    assert f1(counts).value == pytest.approx((2 * 3 / (4 + 4) + 2 * 2 / (4 + 2)) / 2)


def test_the_interval_covers_the_true_f1_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        correct = generator.binomial(4, generator.beta(8, 2, size=60))
        interval = f1(np.stack([correct, np.full(60, 4), np.full(60, 4)], axis=-1)[None]).interval
        covered += interval.low <= 0.8 <= interval.high
    assert 0.88 < covered / 100 < 1


def test_a_constant_difference_is_certain_where_each_f1_is_not() -> None:
    """Two systems share their errors, but one also misses an item of each document."""
    correct = np.random.default_rng(1).integers(1, 5, size=(2, 40))
    ours, theirs = (
        np.stack([found, np.full((2, 40), 8), np.full((2, 40), 8)], axis=-1) for found in (correct, correct - 1)
    )
    difference = f1(ours).minus(f1(theirs)).interval
    assert (difference.low, difference.high) == pytest.approx((1 / 8, 1 / 8))
    alone = f1(ours).interval
    assert alone.low < alone.value - 0.02 < alone.value + 0.02 < alone.high


def test_seeds_that_differ_widen_the_interval() -> None:
    same = np.tile([[[4, 5, 5]]], (3, 30, 1))
    assert f1(same).interval.low == f1(same).interval.high
    differing = same.copy()
    differing[1, :, 0], differing[2, :, 0] = 3, 5
    interval = f1(differing).interval
    assert interval.low < interval.value < interval.high
    assert interval.value == pytest.approx(0.8)
    of_seeds = mean_of_seeds([0.6, 0.8, 1.0]).interval
    assert (interval.low, interval.high) == pytest.approx((of_seeds.low, of_seeds.high))


def test_documents_without_items_change_nothing_and_no_items_have_no_f1() -> None:
    counts = np.array([[[1, 2, 2], [0, 0, 0], [2, 2, 2]]])
    assert f1(counts).value == f1(counts[:, [0, 2]]).value
    assert np.isfinite(f1(counts).interval.low), "resamples of only the empty document are ignored"
    assert np.isnan(f1(counts[:, [1]]).value)
