"""Time by number of encoder layers, for each encoder."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.figures.panels import legend_above, line_style, two_panels
from layoutray.report.axes import tidy

Points = Sequence[tuple[int, float, float]]
"""(encoder layers, seconds of a training step, seconds of generation)."""


def draw_depth(encoders: Mapping[str, Points]) -> Figure:
    """Seconds of a training step and of generation by number of encoder layers; encoders in the given order."""
    figure, training, generation = two_panels(len(encoders))
    for index, (name, points) in enumerate(encoders.items()):
        layers, steps, texts = zip(*sorted(points), strict=True)
        training.plot(layers, steps, label=name, **line_style(index))
        generation.plot(layers, texts, **line_style(index))
    depths = sorted({layers for points in encoders.values() for layers, _, _ in points})
    _axes(training, "training, s per step", depths)
    _axes(generation, "generation, s per batch", depths)
    legend_above(figure, len(encoders))
    return figure


def _axes(axes: Axes, measure: str, depths: Sequence[int]) -> None:
    axes.set_xticks(depths)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("encoder layers")
    axes.set_ylabel(measure)
    tidy(axes, grid="both")
