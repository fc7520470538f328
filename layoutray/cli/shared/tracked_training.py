"""What `pretrain`, `finetune` and the verbs with trials do, and say, before and after a training."""

from collections.abc import Sequence

from layoutray import checkpoint
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import TrainingOptions
from layoutray.tracking import registered, runs
from layoutray.tracking import training as tracking
from layoutray.tracking.runs import Run
from layoutray.tracking.training import Tracking
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job


def starting_checkpoints(init: Sequence[str], uri: str) -> tuple[str, ...]:
    """The checkpoints `init` by names that always mean the same ones."""
    return tuple(registered.resolve(model, uri) for model in init)


def tracking_of(chosen: TrainingOptions) -> Tracking:
    """Where the runs of a verb go."""
    return Tracking(chosen.tracking_uri, chosen.experiment, chosen.command)


def describe_start(checked: CheckedJob) -> None:
    """Name the tensors that no starting checkpoint gives, and say if there is no dev split to evaluate on."""
    job = checked.job
    if checked.fresh:
        terminal.say(f"randomly initialised, as no --init gives them: {checkpoint.listed(checked.fresh)}")
    if job.recipe.train.evaluate_every and not checked.card.examples["dev"]:
        terminal.say(f"{job.examples} has no dev examples: evaluation and early stopping are off")


def close_run(job: Job, run: Run, name: str) -> None:
    """Close the run of a finished training, and register its checkpoint as `name` unless that is empty."""
    if not run.finished:
        tracking.close_run(job, run)
    if name:
        register(run, name)
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
    if run.is_registered(name):
        return
    version = run.register(name)
    terminal.say(f"registered: models:/{name}@{registered.CANDIDATE} (version {version})")
    champion = registered.version_of(registered.resolve(f"models:/{name}@{registered.CHAMPION}", run.uri))
    if champion == version:
        terminal.say(f"the first version is also models:/{name}@{registered.CHAMPION}")
    else:
        terminal.say(f"models:/{name}@{registered.CHAMPION} is version {champion}; see `layoutray promote {name}`")
