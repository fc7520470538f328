"""Time and memory of a training step by length, for each model."""

from collections.abc import Sequence
from dataclasses import dataclass

import pydantic
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from benchmarks.figures.axes import plain_numbers
from benchmarks.figures.panels import legend_above, line_style, two_panels
from layoutray.errors import InputError
from layoutray.report.axes import tidy


@dataclass(frozen=True)
class StepCostRow:
    """One model at one length.

    Attributes:
        length: tokens of a window, at least 1.
        seconds: of a training step, above 0.
        bytes: peak memory of a training step, above 0.
    """

    model: str
    length: int
    seconds: float
    bytes: int

    def __post_init__(self) -> None:
        if not (self.length > 0 and self.seconds > 0 and self.bytes > 0):
            raise InputError(f"{self}: length, seconds and bytes must be above 0; leave out rows without a measurement")


def parse(text: bytes) -> list[StepCostRow]:
    """The rows of a JSON file.

    Raises:
        InputError: with place and value, when the file is not a list of rows or has no rows.
    """
    try:
        rows = pydantic.TypeAdapter(list[StepCostRow]).validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{place}: {first['msg']}; it must be a list of rows with model, length, seconds and bytes"
        ) from error
    if not rows:
        raise InputError("the file has no rows; give at least one with model, length, seconds and bytes")
    return rows


def draw_step_costs(rows: Sequence[StepCostRow]) -> Figure:
    """Milliseconds and peak MiB of a step by length, on logarithmic axes; models in the order of their first rows."""
    models = dict.fromkeys(row.model for row in rows)
    figure, time, memory = two_panels(len(models))
    for index, model in enumerate(models):
        points = sorted((row for row in rows if row.model == model), key=lambda row: row.length)
        lengths = [row.length for row in points]
        time.plot(lengths, [1000 * row.seconds for row in points], label=model, **line_style(index))
        memory.plot(lengths, [row.bytes / 2**20 for row in points], **line_style(index))
    lengths = sorted({row.length for row in rows})
    _axes(time, "time, ms per step", lengths)
    _axes(memory, "peak memory, MiB", lengths)
    legend_above(figure, len(models))
    return figure


def _axes(axes: Axes, measure: str, lengths: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    plain_numbers(axes.yaxis)
    axes.set_xlabel("length, tokens")
    axes.set_ylabel(measure)
    tidy(axes, grid="both")
