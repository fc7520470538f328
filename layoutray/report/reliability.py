"""Reliability diagram: accuracy of answers over their confidence."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from layoutray.metrics.calibration import Bin, calibration_error
from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex


def reliability(curves: Mapping[str, Sequence[Bin]]) -> Figure:
    """A curve by name with a point for each bin. Below the diagonal, confidences are too high."""
    figure = Figure(figsize=(6, 6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#787e86", linewidth=1, linestyle="dotted")
    for index, (name, bins) in enumerate(curves.items()):
        label = f"{name}  (ECE {calibration_error(bins):.4f}, {sum(part.count for part in bins):,} answers)"
        points = [part.confidence for part in bins], [part.accuracy for part in bins]
        axes.plot(
            *points, color=as_hex(COLOURS[index % len(COLOURS)]), linewidth=1.8, marker="o", markersize=4, label=label
        )
    axes.set_xlabel("mean confidence of a bin (bins of equal size)")
    axes.set_ylabel("accuracy")
    axes.set_aspect("equal")
    tidy(axes, grid="both")
    # Outside the axes, because curves can be anywhere inside.
    figure.legend(frameon=False, loc="outside upper left")
    return figure
