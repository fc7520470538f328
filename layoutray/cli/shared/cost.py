"""What a verb will take, for `--dry-run`: hours of cores and of the clock, and money, from a sample of the work."""

import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from layoutray.cluster.connect import num_cores
from layoutray.document import Page
from layoutray.prepare.estimate import estimate
from layoutray.prepare.page_tasks import PageTask
from layoutray.recipe.ingest import IngestRecipe

if TYPE_CHECKING:
    from layoutray.checkpoint import Checkpoint
    from layoutray.training.job import Job


def of_pages(
    tasks: Sequence[PageTask],
    recipe: IngestRecipe,
    sample: int,
    workers: int | None,
    price: float | None,
    answering: "Checkpoint | None" = None,
) -> dict[str, Any]:
    """The estimate for pages (at least 1) that are read.

    Args:
        answering: a model that tags words then answers each of them. The time of others is not known.
        sample: pages to read for it, at least 1.
        workers: processes; None: one per core.
        price: of a core per hour.
    """
    measured = estimate(tasks, recipe, sample, answering and _answer_by(answering))
    hours, error = measured.worker_hours()
    return {
        "pages sampled": len(measured.seconds),
        "of them dead letters": measured.dead,
        "seconds a page": round(statistics.fmean(measured.seconds), 3),
        **_shown(hours, error, workers or num_cores(), price),
    }


def of_trainings(job: "Job", trainings: int, cores: int, threads: int, price: float) -> dict[str, Any]:
    """The estimate for trainings of the length of `job`, on CPUs, from the time of a few steps.

    Args:
        cores: of all trainings together.
        threads: of each process.
    """
    import torch

    from layoutray.cli.shared import step_time
    from layoutray.devices import CPU

    torch.set_num_threads(threads)
    seconds = step_time.seconds(job, CPU)
    hours = trainings * job.recipe.train.steps * seconds * threads / 3600
    return {"seconds a step": round(seconds, 3), **_shown(hours, None, cores, price)}


def _answer_by(loaded: "Checkpoint") -> Callable[[Page], object] | None:
    """Answers a page as a model replica does; None for a model that does not tag words."""
    # PyTorch: `ingest` does without it.
    import torch

    from layoutray.devices import CPU
    from layoutray.inference.extractor import Extractor
    from layoutray.tasks import TagsWords

    if not isinstance(loaded.recipe.task, TagsWords):
        return None
    torch.set_num_threads(1)
    extractor = Extractor(loaded, loaded.recipe.name, CPU)
    return lambda page: extractor.extract([page])


def _shown(hours: float, error: float | None, cores: int, price: float | None) -> dict[str, Any]:
    return {
        "core hours": _interval(hours, error),
        "cores": cores,
        "hours": _interval(hours / cores, error and error / cores),
        **({} if price is None else {"cost": _interval(hours * price, error and error * price)}),
    }


def _interval(value: float, error: float | None) -> str:
    """`value` and, if there is an `error`, the bounds of its 95 % confidence interval."""
    return f"{value:.3g}" + ("" if error is None else f" ({max(value - error, 0):.3g} to {value + error:.3g})")
