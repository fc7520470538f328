"""Style that the figures share."""

from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator


def plain_numbers(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis as plain numbers; a narrow range gets more ticks.

    Call it after everything is drawn, because the ticks depend on the range of the axis.
    """
    low, high = axis.get_view_interval()
    steps = (1, 2, 5) if high > 5 * low else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
