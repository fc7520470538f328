"""The look that all plots share."""

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator


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
