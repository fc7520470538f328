"""Style shared by all plots."""

from typing import Literal

from matplotlib.axes import Axes


def tidy(axes: Axes, *, grid: Literal["both", "y"]) -> None:
    """Draw a faint grid behind the data and remove the top and right spines."""
    axes.grid(axis=grid, color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
