"""Values with their intervals, side by side."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from layoutray.metrics.bootstrap import Interval
from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex


def intervals(groups: Mapping[str, Mapping[str, Interval]], metric: str) -> Figure:
    """A line for each value from its lower to its upper bound, with a dot at the value.

    Args:
        groups: for each row of the picture, from the top, the values by the name that the legend has; all rows have the
            same names.
    """
    figure = Figure(figsize=(8, 1.2 + 0.7 * len(groups)), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    names = [*next(iter(groups.values()))]
    for index, name in enumerate(names):
        rows = [row + 0.22 * (index - (len(names) - 1) / 2) for row in range(len(groups))]
        values = [group[name] for group in groups.values()]
        bounds = [[one.value - one.low for one in values], [one.high - one.value for one in values]]
        axes.errorbar(
            [one.value for one in values],
            rows,
            xerr=bounds,
            fmt="o",
            color=as_hex(COLOURS[index % len(COLOURS)]),
            capsize=3,
            markersize=5,
            label=name,
        )
    axes.set_yticks(range(len(groups)), [*groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlabel(f"{metric}, 95 % interval")
    tidy(axes, grid="both")
    figure.legend(frameon=False, loc="outside upper left", ncols=len(names))
    return figure
