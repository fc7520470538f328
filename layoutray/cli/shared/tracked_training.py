"""A training with its MLflow run: all of `pretrain` and `finetune`, and what the verbs with trials share with them."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from layoutray import checkpoint, start
from layoutray.cli.shared import step_time, terminal
from layoutray.cli.shared.options import TrainingOptions
from layoutray.cli.shared.output_folder import usable
from layoutray.cli.shared.progress import ProgressDisplay, TrainingDisplay
from layoutray.cli.train import TrainOptions
from layoutray.cluster import train as on_ray
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers
from layoutray.devices import visible_gpus
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import sources
from layoutray.store.folder_kind import CHECKPOINT
from layoutray.store.output_lock import working_on
from layoutray.tasks import TagsWords
from layoutray.tracking import registered, runs, stores
from layoutray.tracking import training as tracking
from layoutray.tracking.runs import Run
from layoutray.tracking.training import Tracking
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob, check, prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, Reporter
from layoutray.training.train import train_in_place
from layoutray.training.world import World

FROM_SCRATCH = "none"
"""The value of `--init` for a training from random weights, where the start of this package fits."""


def train(chosen: TrainOptions) -> None:
    """Train in this process, under torchrun, or on Ray workers; what is finished is not trained again."""
    check_tracking(chosen.tracking_uri, chosen.register)
    workers = Workers(
        count=chosen.workers,
        least=chosen.min_workers,
        cpus=chosen.cpus,
        gpus=chosen.gpus,
        threads=chosen.threads,
        max_failures=chosen.max_failures,
    )
    job = _job(chosen)
    if not chosen.workers:
        with worlds.from_environment(_gpus_here(chosen.gpus)) as world, _alone(job, leads=world.leads):
            _train_here(job, world, chosen)
        return
    with _alone(job):
        if jobs.finished(job):
            close_finished(job, chosen.tracking_uri, chosen.register)
            return
        checked = check(job, workers.count)
        with _tracked(checked, chosen) as (run, bar), connect():
            on_ray.train(checked, workers, partial(tracking.reporters, job, run), bar)


def show_plan(chosen: TrainOptions) -> int:
    """Check everything that `train` checks before the first step, and write the plan. Returns exit status 0."""
    check_tracking(chosen.tracking_uri, chosen.register)
    job = _job(chosen)
    card = check(job, chosen.workers or 1).card
    settings = job.recipe.train
    plan: dict[str, Any] = {
        "examples": card.examples,
        "examples from": job.examples,
        "checkpoint": job.out,
        "init": job.init,
        "workers": chosen.workers,
        "steps": settings.steps,
        "passes": round(settings.steps * settings.batch_size / max(card.examples.get("train", 0), 1), 2),
    }
    if chosen.price:
        threads = chosen.threads or max(int(chosen.cpus), 1)
        plan["estimate"] = step_time.estimate(job, 1, max(chosen.workers, 1) * threads, threads, chosen.price)
    return terminal.show_plan(job.recipe, plan)


def _job(chosen: TrainOptions) -> Job:
    recipe, examples = recipes.load(chosen.recipe, chosen.overrides), sources.absolute(chosen.examples)
    return Job(
        recipe=recipe,
        examples=examples,
        out=usable(chosen.out, CHECKPOINT),
        init=starting_checkpoints(chosen.init, chosen.tracking_uri) if chosen.init else default_start(recipe, examples),
        fetch=registered.fetcher(chosen.tracking_uri),
    )


def _alone(job: Job, *, leads: bool = True) -> AbstractContextManager[None]:
    """Let no other training begin in the checkpoint's folder. Of the processes of one training, the first locks it."""
    return working_on(str(job.out)) if leads else nullcontext()


def _gpus_here(wanted: int | None) -> int:
    """The GPUs for a training in this process. Raises InputError if more are wanted than there are."""
    found = visible_gpus()
    if wanted and wanted > found:
        raise InputError(
            f"--gpus is {wanted}, and PyTorch can use {found} GPUs here; leave --gpus out, or check the driver and the "
            "build of PyTorch"
        )
    return 0 if wanted == 0 else found


def _train_here(job: Job, world: World, chosen: TrainOptions) -> None:
    """Train in this process and the others of `world`; only rank 0 writes to MLflow and to the terminal."""
    if jobs.finished(job):
        if world.leads:
            close_finished(job, chosen.tracking_uri, chosen.register)
        return
    inputs = prepare(job, world.size)
    if not world.leads:
        train_in_place(inputs, world, CompositeReporter([]))
        return
    with _tracked(inputs.checked, chosen) as (run, bar):
        train_in_place(inputs, world, CompositeReporter([bar, *tracking.reporters(job, run)]))


@contextmanager
def _tracked(checked: CheckedJob, chosen: TrainOptions) -> Generator[tuple[Run, Reporter]]:
    """The run of a training and its bar on the terminal. The block trains; the run is then closed."""
    job = checked.job
    describe_start(checked)
    run = tracking.open_run(job, checked.card, tracking_of(chosen))
    hidden = () if visible_gpus() else ("mfu",)  # of CPUs it says nothing
    with run.failed_on_error(), ProgressDisplay() as display:
        yield run, TrainingDisplay(display, job.recipe.name, hidden)
    close_run(job, run, chosen.register)


def check_tracking(uri: str, name: str = "") -> None:
    """Raise the error of MLflow before any work: its server does not answer, or no model can be called `name`."""
    if name:
        registered.check_name(name)
    stores.check(stores.absolute(uri))


def starting_checkpoints(init: Sequence[str], uri: str) -> tuple[str, ...]:
    """The checkpoints `init` by names that always mean the same ones; empty for `none`."""
    return tuple(registered.resolve(model, uri) for model in init if model != FROM_SCRATCH)


def default_start(recipe: Recipe, examples: str) -> tuple[str, ...]:
    """The start of this package, if the recipe tags words and has its architecture, sizes and vocabulary."""
    vocabulary = sources.join(examples, "tokenizer.json")
    if not (isinstance(recipe.task, TagsWords) and sources.exists(vocabulary)):
        return ()
    return (start.resolved(),) if start.fits(recipe, sources.read_bytes(vocabulary)) else ()


def tracking_of(chosen: TrainingOptions) -> Tracking:
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
