"""How often answers are right that were given with some confidence."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from layoutray.metrics.calibration import Bin, calibration_error
from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex


def reliability(curves: Mapping[str, Sequence[Bin]]) -> Figure:
    """The share of right answers over confidence, by name, a point for each bin; below the diagonal more was promised than kept."""
    figure = Figure(figsize=(6, 6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#787e86", linewidth=1, linestyle="dotted")
    for index, (name, found) in enumerate(curves.items()):
        label = f"{name}  (ECE {calibration_error(found):.4f}, {sum(one.count for one in found):,} answers)"
        points = [one.confidence for one in found], [one.accuracy for one in found]
        axes.plot(
            *points, color=as_hex(COLOURS[index % len(COLOURS)]), linewidth=1.8, marker="o", markersize=4, label=label
        )
    axes.set_xlabel("confidence, mean of a bin (bins of equal numbers)")
    axes.set_ylabel("share that is right")
    axes.set_aspect("equal")
    tidy(axes, grid="both")
    # Above the axes: the curves may be anywhere in them.
    figure.legend(frameon=False, loc="outside upper left")
    return figure
