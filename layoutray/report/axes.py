"""The look that all plots share."""

import math
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from layoutray.report.palette import COLOURS, as_hex

_LEGEND_COLUMNS = 3
"""Of long names no more fit above a figure."""


def tidy(axes: Axes, *, grid: Literal["both", "y"]) -> None:
    """A faint grid below what is drawn, and no frame."""
    axes.grid(axis=grid, color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def plain_numbers(axis: Axis) -> None:
    """Ticks of a logarithmic axis, written out; to be called when all is drawn, for a narrow range gets more of them."""
    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high > 5 * low else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def two_panels(lines: int) -> tuple[Figure, Axes, Axes]:
    """A figure with two plots side by side of the same `lines`, tall enough for their legend."""
    figure = Figure(figsize=(10, 4.2 + 0.2 * math.ceil(lines / _LEGEND_COLUMNS)), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    return figure, left, right


def legend_above(figure: Figure, lines: int) -> None:
    """The names of the lines of `two_panels`, drawn already, above both."""
    figure.legend(loc="outside upper center", ncols=min(lines, _LEGEND_COLUMNS), frameon=False)


def line_style(index: int) -> dict[str, Any]:
    """Of the `index`-th line of a plot, so that many stay apart."""
    return {
        "color": as_hex(COLOURS[index % len(COLOURS)]),
        "marker": "osD^v"[index // len(COLOURS) % 5],
        "linewidth": 1.8,
    }
