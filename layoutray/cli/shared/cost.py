"""What a verb will take, for `--dry-run`: hours of cores and of the clock, and money, from a sample of the work."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from layoutray.cluster.connect import num_cores
from layoutray.document import Page
from layoutray.prepare.estimate import estimate
from layoutray.prepare.page_tasks import PageTask
from layoutray.recipe.ingest import IngestRecipe


def of_pages(
    tasks: Sequence[PageTask],
    recipe: IngestRecipe,
    sample: int,
    workers: int | None,
    price: float | None,
    answer: Callable[[Page], object] | None = None,
) -> dict[str, Any]:
    """The estimate for pages (at least 1) that are read.

    Args:
        sample: pages to read for it, at least 1.
        workers: processes; None: one per core.
        price: of a core per hour.
        answer: answers a page that was read.
    """
    measured = estimate(tasks, recipe, sample, answer)
    hours, error = measured.worker_hours()
    return {
        "pages sampled": len(measured.seconds),
        "of them dead letters": measured.dead,
        "seconds a page": round(statistics.fmean(measured.seconds), 3),
        **shown(hours, error, workers or num_cores(), price),
    }


def shown(hours: float, error: float | None, cores: int, price: float | None) -> dict[str, Any]:
    """What `hours` of a core, known up to `error`, take on so many cores, and what they cost."""
    return {
        "core hours": _interval(hours, error),
        "cores": cores,
        "hours": _interval(hours / cores, error and error / cores),
        **({} if price is None else {"cost": _interval(hours * price, error and error * price)}),
    }


def _interval(value: float, error: float | None) -> str:
    """`value` and, if there is an `error`, the bounds of its 95 % confidence interval."""
    return f"{value:.3g}" + ("" if error is None else f" ({max(value - error, 0):.3g} to {value + error:.3g})")
