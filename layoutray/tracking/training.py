"""The run of a training: opened with everything that is known at its start, and closed with its checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tracking import metric_names, runs
from layoutray.tracking.opening import DataUsed, encoder_of, recipe_parameters, titled
from layoutray.tracking.reporter import MlflowReporter
from layoutray.tracking.runs import Opening, Run
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY, JsonLines, Reporter, training_minutes


@dataclass(frozen=True)
class Tracking:
    """Where the runs of a command go, and what repeats it.

    Attributes:
        uri: of MLflow.
        experiment: empty for one called like the data.
        command: `layoutray VERB ...` in a shell, or `layoutray.VERB(...)` in Python.
    """

    uri: str
    experiment: str
    command: str


def open_run(job: Job, card: Card, tracking: Tracking, varied: Sequence[str] = (), parent: Run | None = None) -> Run:
    """The run of a training; that of an earlier call if it was interrupted.

    Args:
        card: of the job's examples.
        varied: `key=value` assignments in which the run differs from others of its recipe, for its name and parameters.
        parent: the run that this one belongs to.
    """
    recipe = job.recipe
    tags = {"task": recipe.task.name, "arch": encoder_of(recipe), "data": card.title, "checkpoint": str(job.out)}
    tags |= {"words": card.words} if card.words else {}
    tags |= {"init": ", ".join(job.init)} if job.init else {}
    counts = {"pages": card.pages, "examples": card.examples}
    known = Opening(
        experiment=tracking.experiment or card.title,
        name=" ".join([recipe.name, *varied]),
        parameters=recipe_parameters(recipe) | {one.partition("=")[0]: one.partition("=")[2] for one in varied},
        tags=tags,
        data=DataUsed(
            title=titled(card.title, card.words),
            digest=card.digest,
            folder=job.examples,
            context="training",
            counts=counts,
        ),
        command=tracking.command,
        metrics={metric_names.PAGES: card.pages.get("train", 0)},
        parent=parent,
    )
    return runs.open_run(job.out, tracking.uri, known)


def reporters(job: Job, run: Run) -> Sequence[Reporter]:
    """The reporters of rank 0."""
    return JsonLines(sources.join(job.out, HISTORY)), MlflowReporter(run)


def close_run(job: Job, run: Run) -> None:
    """Log minutes and checkpoint of a finished training, and close its run."""
    run.log_checkpoint(job.out)
    close_without_checkpoint(job, run)


def close_without_checkpoint(job: Job, run: Run) -> None:
    """Log the minutes of a finished training, and close its run: its model only measures."""
    run.log_metrics(0, {metric_names.MINUTES: training_minutes(sources.join(job.out, HISTORY))})
    run.describe()
    run.finish()
