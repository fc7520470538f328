"""A metric by the number of training documents."""

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
