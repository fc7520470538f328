"""The MLflow run of a training: opened, closed and registered for `pretrain`, `finetune` and `sweep`."""

from collections.abc import Sequence

from layoutray import checkpoint
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import TrainingOptions
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tracking import metric_names, origin, registered, runs
from layoutray.tracking.data import DataUsed, titled
from layoutray.tracking.parameters import encoder_of, of_recipe
from layoutray.tracking.runs import MlflowReporter, Run
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY, JsonLines, Reporter, training_minutes


def starting_checkpoints(init: Sequence[str], uri: str) -> tuple[str, ...]:
    """The checkpoints `init` by names that always mean the same ones."""
    return tuple(registered.resolve(model, uri) for model in init)


def describe_start(checked: CheckedJob) -> None:
    """Name the tensors that no starting checkpoint gives, and say if there is no dev split to evaluate on."""
    job = checked.job
    if checked.fresh:
        terminal.say(f"randomly initialised, as no --init gives them: {checkpoint.listed(checked.fresh)}")
    if job.recipe.train.evaluate_every and not checked.card.examples["dev"]:
        terminal.say(f"{job.examples} has no dev examples: evaluation and early stopping are off")


def open_run(
    job: Job, card: Card, chosen: TrainingOptions, varied: Sequence[str] = (), parent: Run | None = None
) -> Run:
    """The run noted in the checkpoint folder if an interrupted training resumes there, else a new one.

    Args:
        card: of the job's examples.
        chosen: options of the command.
        varied: `key=value` assignments in which the run differs from others of its recipe, for its name and parameters.
        parent: the run that this one belongs to.
    """
    uri = chosen.tracking_uri
    if interrupted := runs.noted(job.out, uri):
        interrupted.reopen()
        return interrupted
    tags = {
        "task": job.recipe.task.name,
        "arch": encoder_of(job.recipe),
        "data": card.title,
        "checkpoint": str(job.out),
    }
    tags |= {"words": card.words} if card.words else {}
    tags |= {"init": ", ".join(job.init)} if job.init else {}
    tags |= origin.tags(chosen.command) | runs.claim(job.out, uri)
    name = " ".join([job.recipe.name, *varied])
    parameters = of_recipe(job.recipe) | {one.partition("=")[0]: one.partition("=")[2] for one in varied}
    run = runs.create_run(uri, chosen.experiment or card.title, name, parameters, tags, parent)
    run.log_data(data_of(job, card))
    run.log_metrics(0, {metric_names.PAGES: card.pages.get("train", 0)})
    run.describe()
    run.note(job.out)
    run.remove_claim()
    return run


def data_of(job: Job, card: Card) -> DataUsed:
    """The examples of the job as a data set in MLflow."""
    title = titled(card.title, card.words)
    return DataUsed(title, card.digest, job.examples, "training", {"pages": card.pages, "examples": card.examples})


def reporters(job: Job, run: Run) -> Sequence[Reporter]:
    """The reporters of rank 0."""
    return JsonLines(sources.join(job.out, HISTORY)), MlflowReporter(run)


def close_run(job: Job, run: Run, name: str) -> None:
    """Log duration and checkpoint of a finished training, register it as `name` unless empty, and close its run."""
    run.log_metrics(0, {metric_names.MINUTES: training_minutes(sources.join(job.out, HISTORY))})
    run.log_checkpoint(job.out)
    run.describe()
    if name:
        register(run, name)
    run.finish()
    terminal.say(f"checkpoint: {job.out}\nMLflow run: {run.address}")


def close_finished(job: Job, uri: str, name: str) -> None:
    """Do what is missing after a finished training: close its run if it was interrupted, or register it as `name`."""
    run = runs.noted(job.out, uri)
    if run and (not run.finished or (name and not run.is_registered(name))):
        close_run(job, run, name)
    else:
        terminal.say(f"{job.out} is finished; delete it to train again")


def register(run: Run, name: str) -> None:
    """Make the checkpoint of the run a version of model `name`, unless it is one."""
    if not run.is_registered(name):
        version = run.register(name)
        terminal.say(f"registered: models:/{name}@{registered.CANDIDATE} (version {version})")
        champion = registered.version_of(registered.resolve(f"models:/{name}@{registered.CHAMPION}", run.uri))
        if champion == version:
            terminal.say(f"the first version is also models:/{name}@{registered.CHAMPION}")
        else:
            terminal.say(f"models:/{name}@{registered.CHAMPION} is version {champion}; see `layoutray promote {name}`")
