"""Curves of metrics over training steps."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.figures.axes import plain_numbers
from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex

Points = Sequence[tuple[int, float]]
"""(step, value), by ascending step."""


def seed_curves(runs: Mapping[str, Sequence[Points]], ylabel: str, *, logarithmic: bool) -> Figure:
    """Curves over steps: for each name the mean of its runs, in a band from their minimum to their maximum.

    The mean is taken at the steps that all runs of the name have.

    Args:
        runs: for each name the points of one or more runs with different seeds; each run has at least one point.
    """
    figure, axes = _new_axes(ylabel)
    for index, (name, seeds) in enumerate(runs.items()):
        colour = as_hex(COLOURS[index % len(COLOURS)])
        steps = sorted(set[int].intersection(*({step for step, _ in points} for points in seeds)))
        values = np.array([[dict(points)[step] for step in steps] for points in seeds])
        if len(seeds) > 1:
            axes.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
        label = name if len(seeds) == 1 else f"{name}, mean and range of {len(seeds)} seeds"
        _curve(axes, label, list(zip(steps, values.mean(0).tolist(), strict=True)), colour)
    if logarithmic:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    # Below the axes, because a legend with many names would hide the curves.
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=min(len(runs), 2))
    figure.set_figheight(4.5 + 0.25 * ((len(runs) + 1) // 2))
    return figure


def _new_axes(ylabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("step")
    axes.set_ylabel(ylabel)
    tidy(axes, grid="y")
    return figure, axes


def _curve(axes: Axes, name: str, points: Points, colour: str) -> None:
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
    """Moving average over a centred window of 5 % of the points; the window is narrower at both ends."""
    window = np.ones(2 * (len(values) // 40) + 1)  # odd length: an even window shifts the mean by half a point
    return np.convolve(values, window, mode="same") / np.convolve(np.ones(len(values)), window, mode="same")
