"""Curves show the points that they were given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from layoutray.report.curves import loss_curve, seed_curves
from layoutray.report.png import png


def drawn(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    return {str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[0].lines}


def test_a_short_curve_is_its_points_and_its_name_says_the_last() -> None:
    figure = loss_curve({"train": [(10, 3.0), (20, 2.5)], "dev": [(20, 2.75)]}, "perplexity")
    assert drawn(figure) == {"train  (last 2.5)": ([10, 20], [3.0, 2.5]), "dev  (last 2.75)": ([20], [2.75])}
    assert figure.axes[0].get_ylabel() == "perplexity"


def test_a_long_curve_is_smoothed_without_a_shift() -> None:
    points = [(step, 2.0 * step + (1 if step % 2 else -1)) for step in range(400)]
    curves = drawn(loss_curve({"train": points}))
    steps, values = curves["train  (last 799)"]
    assert len(steps) == 400
    assert values[100:300] == pytest.approx([2.0 * step for step in steps[100:300]], abs=0.2)


def test_nothing_measured_is_said() -> None:
    figure = loss_curve({"train": []})
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing was measured"]
    assert png(figure).startswith(b"\x89PNG")


def test_seeds_are_a_mean_within_their_range_and_a_single_run_is_itself() -> None:
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
def test_a_logarithmic_axis_has_written_out_numbers_however_narrow_it_is(low: float, high: float) -> None:
    figure = seed_curves({"bert": [[(10, high), (20, low)]]}, "perplexity", logarithmic=True)
    figure.draw_without_rendering()
    least, most = figure.axes[0].get_ylim()
    inside = [text.get_text() for text in figure.axes[0].get_yticklabels() if least <= text.get_position()[1] <= most]
    assert 2 <= len(inside) <= 12
    assert all(text.replace(",", "").isdigit() for text in inside)
