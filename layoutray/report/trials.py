"""What was measured at each value of a setting."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from layoutray.report.palette import COLOURS, as_hex


def metric_by_value(points: Sequence[tuple[object, float]], best: object, key: str, metric: str) -> Figure:
    """Picture of `points`, (value, number) in the order given; the numbers stand side by side, however far apart the values are."""
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    values, numbers = [value for value, _ in points], [number for _, number in points]
    place, colour = values.index(best), as_hex(COLOURS[0])
    axes.plot(range(len(points)), numbers, color=colour, linewidth=1.8, marker="o", markersize=3)
    axes.plot(place, numbers[place], "o", color=colour, markersize=9, label=f"best: {best}  ({numbers[place]:.4g})")
    axes.set_xticks(range(len(points)), [str(value) for value in values])
    axes.set_xlabel(key)
    axes.set_ylabel(metric)
    axes.margins(x=0.1)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
    return figure
