"""The extrapolated curve of an error that falls by a power of the number of documents."""

import numpy as np
import pytest

from layoutray.metrics.bootstrap import Estimate
from layoutray.metrics.learning_curve import extrapolated

RESAMPLES = np.linspace(0.9, 1.1, 21)


def measured(error_of: dict[int, float], best: str) -> dict[int, Estimate]:
    """Errors with resamples that are up to a tenth smaller or larger."""
    sign, start = (-1, 1) if best == "max" else (1, 0)
    return {size: Estimate(start + sign * error, start + sign * error * RESAMPLES) for size, error in error_of.items()}


@pytest.mark.parametrize("best", ["min", "max"])
def test_a_power_law_is_continued_exactly(best: str) -> None:
    errors = {size: 0.9 * size**-0.4 for size in (5, 20, 100)}
    found = extrapolated(measured(errors, best), 120, best)
    expected = 0.9 * 120**-0.4
    assert found.value == pytest.approx(1 - expected if best == "max" else expected)
    width = abs(found.interval.high - found.interval.low)
    assert 0.15 * expected < width < 0.2 * expected


def test_the_curve_goes_through_the_last_point() -> None:
    errors = {5: 0.8, 10: 0.5, 20: 0.45}
    found = extrapolated(measured(errors, "max"), 20, "max")
    assert found.value == pytest.approx(0.55)


def test_a_metric_without_error_stays_and_a_falling_one_falls() -> None:
    perfect = {5: Estimate(0.9, np.full(3, 0.9)), 10: Estimate(1.0, np.array([1.0, 0.99, 1.0]))}
    assert extrapolated(perfect, 30, "max").value == 1
    falling = {5: Estimate(0.9, np.full(3, 0.9)), 10: Estimate(0.8, np.full(3, 0.8))}
    assert extrapolated(falling, 20, "max").value == pytest.approx(0.6)
