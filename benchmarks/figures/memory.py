"""Resident memory by number of pages done, for each role of processes."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from layoutray.report.axes import tidy
from layoutray.report.palette import COLOURS, as_hex

Points = Sequence[tuple[int, float]]
"""(pages done, MiB), in order of pages."""


def draw_memory(roles: Mapping[str, Points]) -> Figure:
    """MiB of each role by number of pages done; roles in the given order."""
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    for index, (role, points) in enumerate(roles.items()):
        pages, mib = zip(*points, strict=True)
        axes.plot(pages, mib, label=role, color=as_hex(COLOURS[index % len(COLOURS)]), linewidth=1.8)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("pages done")
    axes.set_ylabel("resident memory, MiB")
    tidy(axes, grid="y")
    figure.legend(loc="outside upper center", ncols=len(roles), frameon=False)
    return figure
