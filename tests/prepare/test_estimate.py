"""What an ingest will take is told from a sample of its pages, with what the sample leaves open."""

import math
import statistics

import pytest

from layoutray.prepare.estimate import Estimate


def test_all_pages_take_the_mean_of_the_sample() -> None:
    hours, error = Estimate(seconds=[1.0, 2.0, 3.0, 6.0], dead=1, pages=36_000).worker_hours()
    assert hours == pytest.approx(30)
    deviation = statistics.stdev([1.0, 2.0, 3.0, 6.0])
    assert error == pytest.approx(1.96 * 10 * deviation / 2, rel=1e-3)


def test_a_sample_of_all_pages_leaves_nothing_open_and_one_page_of_many_leaves_everything() -> None:
    assert Estimate(seconds=[2.0, 4.0], dead=0, pages=2).worker_hours() == (pytest.approx(6 / 3600), 0.0)
    assert Estimate(seconds=[2.0], dead=0, pages=1).worker_hours()[1] == 0.0
    assert Estimate(seconds=[2.0], dead=0, pages=2).worker_hours()[1] == math.inf
