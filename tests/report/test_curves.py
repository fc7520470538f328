"""Curves show the points that they were given."""

import pytest
from matplotlib.figure import Figure

from layoutray.report.curves import loss_curve
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
