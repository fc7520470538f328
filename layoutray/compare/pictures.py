"""Pictures of trials: a metric by the number of training documents, and by the value of a setting."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from layoutray.metrics.bootstrap import Interval
from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex


def learning_curve(
    points: Mapping[int, Interval],
    seeds: Mapping[int, Sequence[float]],
    predicted: Mapping[int, Interval],
    metric: str,
) -> Figure:
    """The mean of the seeds in the band of its interval, the value of each seed, and what is predicted beyond.

    Args:
        points: by number of training documents, ascending.
        seeds: values by the same numbers.
        predicted: by larger numbers of training documents.
    """
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    colour, other = as_hex(COLOURS[0]), as_hex(COLOURS[1])
    sizes, drawn = [*points], [*points.values()]
    axes.fill_between(
        sizes, [one.low for one in drawn], [one.high for one in drawn], color=colour, alpha=0.2, linewidth=0
    )
    label = f"mean of {len(seeds[sizes[0]])} seeds, 95 % interval"
    axes.plot(sizes, [one.value for one in drawn], color=colour, linewidth=1.8, marker="o", markersize=4, label=label)
    every = [(size, value) for size, values in seeds.items() for value in values]
    axes.plot(*zip(*every, strict=True), ".", color=colour, alpha=0.5, markersize=5, label="each seed")
    for size, one in predicted.items():
        label = f"predicted for {size} documents, 95 % interval"
        bounds = [[one.value - one.low], [one.high - one.value]]
        axes.errorbar([size], [one.value], yerr=bounds, fmt="D", color=other, capsize=4, markersize=5, label=label)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("training documents")
    axes.set_ylabel(metric)
    tidy(axes, grid="y")
    axes.legend(frameon=False, loc="best")
    return figure


def metric_by_value(points: Sequence[tuple[object, float]], best: object, key: str, metric: str) -> Figure:
    """The metric of each value of the setting `key`, in order and equally spaced, with the value `best` marked."""
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
    tidy(axes, grid="y")
    axes.legend(frameon=False, loc="best")
    return figure
