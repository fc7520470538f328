"""Curves of what was measured over steps."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from layoutray.report.palette import COLOURS, as_hex

Series = Mapping[str, Sequence[tuple[int, float]]]
"""Name of a curve → its (step, value) points, in order of steps."""


def loss_curve(series: Series, ylabel: str = "loss") -> Figure:
    """Curves over steps, each with the name and last value written at its end.

    A curve of more than 50 points is drawn faint, under its mean over a window; a single point is drawn as a dot.
    """
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    drawn = {name: points for name, points in series.items() if points}
    for index, (name, points) in enumerate(drawn.items()):
        _curve(axes, name, points, as_hex(COLOURS[index % len(COLOURS)]))
    axes.set_xlabel("step")
    axes.set_ylabel(ylabel)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if drawn:
        axes.legend(frameon=False, loc="best")
    else:
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", va="center", color="#787e86")
    return figure


def _curve(axes: Axes, name: str, points: Sequence[tuple[int, float]], colour: str) -> None:
    steps = [step for step, _ in points]
    values = [value for _, value in points]
    label = f"{name}  (last {values[-1]:.4g})"
    if len(values) == 1:
        axes.plot(steps, values, "o", color=colour, label=label)
    elif len(values) <= 50:
        axes.plot(steps, values, color=colour, linewidth=1.8, marker="o", markersize=3, label=label)
    else:
        axes.plot(steps, values, color=colour, linewidth=0.8, alpha=0.35)
        axes.plot(steps, _smoothed(values), color=colour, linewidth=2.0, label=label)


def _smoothed(values: Sequence[float]) -> NDArray[np.float64]:
    """Mean over a window of 5 % of the points around each; narrower at both ends."""
    window = np.ones(2 * (len(values) // 40) + 1)  # odd, or the mean would lag by half a point
    return np.convolve(values, window, mode="same") / np.convolve(np.ones(len(values)), window, mode="same")
