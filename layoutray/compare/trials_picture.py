"""A metric by the value of a setting."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from layoutray.report.palette import COLOURS, as_hex


def metric_by_value(points: Sequence[tuple[object, float]], best: object, key: str, metric: str) -> Figure:
    """The metric for each value of the setting `key`, with the value `best` marked.

    Args:
        points: (value, metric), in the order to draw; they are equally spaced, whatever the values are.
    """
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    values, scores = [value for value, _ in points], [score for _, score in points]
    best_index, colour = values.index(best), as_hex(COLOURS[0])
    axes.plot(range(len(points)), scores, color=colour, linewidth=1.8, marker="o", markersize=3)
    label = f"best: {best}  ({scores[best_index]:.4g})"
    axes.plot(best_index, scores[best_index], "o", color=colour, markersize=9, label=label)
    axes.set_xticks(range(len(points)), [str(value) for value in values])
    axes.set_xlabel(key)
    axes.set_ylabel(metric)
    axes.margins(x=0.1)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
    return figure
