"""Time and memory over length, model by model."""

from collections.abc import Sequence
from dataclasses import dataclass

import pydantic
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from layoutray.errors import InputError
from layoutray.report.axes import legend_above, line_style, plain_numbers, tidy, two_panels


@dataclass(frozen=True)
class Measured:
    """One model at one length.

    Attributes:
        length: tokens of a window, at least 1.
        seconds: of a step, above 0.
        bytes: the most memory that a step takes, above 0.
    """

    model: str
    length: int
    seconds: float
    bytes: int

    def __post_init__(self) -> None:
        if not (self.length > 0 and self.seconds > 0 and self.bytes > 0):
            raise InputError(
                f"{self} must have length, seconds and bytes above 0; leave out what could not be measured"
            )


def parse(text: bytes) -> list[Measured]:
    """The rows of a JSON file. Raises InputError, with place and value, where it is not a list of such rows or has none."""
    try:
        rows = pydantic.TypeAdapter(list[Measured]).validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{place}: {first['msg']}; it must be a list of rows with model, length, seconds and bytes"
        ) from error
    if not rows:
        raise InputError("the file has no rows; give at least one with model, length, seconds and bytes")
    return rows


def scaling(rows: Sequence[Measured]) -> Figure:
    """Milliseconds a step and MiB at the most over length, on logarithmic axes; models in the order in which they come."""
    models = dict.fromkeys(row.model for row in rows)
    figure, time, memory = two_panels(len(models))
    for index, model in enumerate(models):
        mine = sorted((row for row in rows if row.model == model), key=lambda row: row.length)
        lengths = [row.length for row in mine]
        time.plot(lengths, [1000 * row.seconds for row in mine], label=model, **line_style(index))
        memory.plot(lengths, [row.bytes / 2**20 for row in mine], **line_style(index))
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
