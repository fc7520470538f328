"""Curves show the given points."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.figures.curves import seed_curves


def drawn(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    return {str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[0].lines}


def test_a_long_curve_is_smoothed_without_a_shift() -> None:
    points = [(step, 2.0 * step + (1 if step % 2 else -1)) for step in range(400)]
    steps, values = drawn(seed_curves({"train": [points]}, "loss", logarithmic=False))["train  (last 799)"]
    assert len(steps) == 400
    assert values[100:300] == pytest.approx([2.0 * step for step in steps[100:300]], abs=0.2)


def test_seeds_become_a_mean_in_a_band_and_a_single_run_is_a_plain_curve() -> None:
    seeds = [[(10, 100.0), (20, 10.0)], [(10, 300.0), (20, 20.0), (30, 5.0)]]
    figure = seed_curves({"skim": seeds, "bert": [[(10, 50.0), (20, 40.0)]]}, "perplexity", logarithmic=True)
    assert drawn(figure) == {
        "skim, mean and range of 2 seeds  (last 15)": ([10, 20], [200.0, 15.0]),
        "bert  (last 40)": ([10, 20], [50.0, 40.0]),
    }
    (band,) = figure.axes[0].collections
    corners = np.vstack([path.vertices for path in band.get_paths()])
    assert {(10, 100), (10, 300), (20, 10), (20, 20)} == {(int(step), int(value)) for step, value in corners}
    assert figure.axes[0].get_yscale() == "log"


@pytest.mark.parametrize(("low", "high"), [(2400.0, 3600.0), (40.0, 30_000.0)])
def test_a_logarithmic_axis_has_plain_numbers_for_any_range(low: float, high: float) -> None:
    figure = seed_curves({"bert": [[(10, high), (20, low)]]}, "perplexity", logarithmic=True)
    figure.draw_without_rendering()
    bottom, top = figure.axes[0].get_ylim()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels() if bottom <= text.get_position()[1] <= top]
    assert 2 <= len(labels) <= 12
    assert all(label.replace(",", "").isdigit() for label in labels)
