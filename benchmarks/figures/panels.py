"""Two plots side by side that share their lines and one legend."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from layoutray.report.palette import COLOURS, as_hex

_LEGEND_COLUMNS = 3
"""Long names do not fit above a figure in more columns."""


def two_panels(lines: int) -> tuple[Figure, Axes, Axes]:
    """A figure with two plots side by side, tall enough for a legend of `lines` names."""
    figure = Figure(figsize=(10, 4.2 + 0.2 * math.ceil(lines / _LEGEND_COLUMNS)), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    return figure, left, right


def legend_above(figure: Figure, lines: int) -> None:
    """One legend of the `lines` lines above both plots; call it after the lines are drawn."""
    figure.legend(loc="outside upper center", ncols=min(lines, _LEGEND_COLUMNS), frameon=False)


def line_style(index: int) -> dict[str, Any]:
    """Colour and marker of the line number `index`; no two of the first lines look the same."""
    return {
        "color": as_hex(COLOURS[index % len(COLOURS)]),
        "marker": "osD^v"[index // len(COLOURS) % 5],
        "linewidth": 1.8,
    }
