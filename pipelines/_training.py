"""What the verbs that train share: options, the choice of this process or Ray, MLflow, the curve, registering."""

import argparse
import os
from collections.abc import Sequence
from functools import partial

from layoutray import checkpoint, config, recipe, tracking
from layoutray.cluster import train as on_ray
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers
from layoutray.report import curves, png
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tracking import MlflowReporter, Run
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY, CompositeReporter, JsonLines, ProgressBar, Reporter, read_history
from pipelines import _terminal as terminal


def parser(verb: str, description: str | None) -> argparse.ArgumentParser:
    """Options of every verb that trains."""
    made = argparse.ArgumentParser(prog=f"layoutray {verb}", description=description)
    made.add_argument("recipe", help="a training recipe: its name, or a .toml file")
    made.add_argument("examples", help="folder that `layoutray encode` has written")
    made.add_argument(
        "--out",
        required=True,
        help="checkpoint folder, on disks that all nodes see, or its s3:// address; an unfinished run goes on",
    )
    made.add_argument("--gpus", type=int, default=0, help="GPUs of each Ray worker")
    made.add_argument("--experiment", default="layoutray", help="MLflow experiment")
    made.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    made.add_argument(
        "--register", metavar="NAME", default="", help="register the model under this name, alias `champion`"
    )
    terminal.add_recipe_options(made)
    return made


def add_worker_option(parser: argparse.ArgumentParser) -> None:
    """`--workers` and `--min-workers`, for the verbs that train one model."""
    parser.add_argument(
        "--workers", type=int, default=0, help="Ray Train workers; 0 trains in this process (or under torchrun)"
    )
    parser.add_argument(
        "--min-workers",
        type=int,
        default=0,
        help="of these, with how many it goes on where nodes were lost; 0 waits until all are back",
    )


def add_init_option(parser: argparse.ArgumentParser) -> None:
    """`--init`, for the verbs that may start from checkpoints."""
    parser.add_argument(
        "--init",
        action="append",
        default=[],
        metavar="CHECKPOINT",
        help="folder, s3:// address or models:/NAME@ALIAS, whose encoder it starts from, and whose decoder where both have one; repeatable "
        "where the architecture joins several; none starts from scratch",
    )


def starting_checkpoints(init: Sequence[str], uri: str) -> tuple[str, ...]:
    """The folders of the checkpoints `init`."""
    return tuple(tracking.checkpoint_folder(one, uri)[0] for one in init)


def run(options: argparse.Namespace, init: Sequence[str]) -> int:
    """Train as `options` say, from the encoders of the checkpoints `init`."""
    uri = options.tracking_uri or tracking.default_uri()
    workers = Workers(options.workers, options.min_workers, gpus=options.gpus)
    start = starting_checkpoints(init, uri)
    job = Job(
        recipe.load(options.recipe, options.set),
        sources.absolute(options.examples),
        sources.absolute(options.out),
        start,
    )
    if options.dry_run:
        return terminal.show_plan(
            job.recipe,
            {"examples": job.examples, "checkpoint": str(job.out), "init": list(init), "workers": options.workers},
        )
    if jobs.finished(job):
        return after_the_end(job, uri, options.register)
    if "WORLD_SIZE" in os.environ and not options.workers:
        return _under_torchrun(job, uri, options)
    say_beforehand(job, max(options.workers, 1))
    tracked = open_run(job, uri, options.experiment)
    try:
        with ProgressBar(job.recipe.name) as bar:
            if options.workers:
                with connect():
                    on_ray.train(job, workers, partial(reporters, job, tracked), bar)
            else:
                jobs.train_in_place(job, worlds.single_process(), CompositeReporter([bar, *reporters(job, tracked)]))
    except BaseException:
        tracked.finish("FAILED")
        raise
    close_run(job, tracked, options.register)
    return 0


def reporters(job: Job, tracked: Run) -> Sequence[Reporter]:
    """Who listens on the leading worker."""
    return JsonLines(sources.join(job.out, HISTORY)), MlflowReporter(tracked)


def _under_torchrun(job: Job, uri: str, options: argparse.Namespace) -> int:
    with worlds.from_environment() as world:
        if world.leads:
            say_beforehand(job, world.size)
        tracked = open_run(job, uri, options.experiment) if world.leads else None
        with ProgressBar(job.recipe.name) as bar:
            jobs.train_in_place(job, world, CompositeReporter([bar, *reporters(job, tracked)] if tracked else []))
        if tracked:
            close_run(job, tracked, options.register)
    return 0


def say_beforehand(job: Job, workers: int) -> None:
    """Name the tensors that the starting checkpoints do not give, and say where there is nothing to evaluate on.

    Raises:
        InputError: when `job` cannot be trained by so many workers; no run has been opened then.
    """
    if job.init and (fresh := jobs.rehearse(job, workers)):
        terminal.say(f"freshly drawn, as no --init gives them: {checkpoint.listed(fresh)}")
    if job.recipe.train.evaluate_every and not Card.read(job.examples).examples["dev"]:
        terminal.say(
            f"{job.examples} has no dev examples: nothing is evaluated on the way, and train.patience stops nothing"
        )


def open_run(job: Job, uri: str, experiment: str, varied: Sequence[str] = (), parent: Run | None = None) -> Run:
    """The run noted in the checkpoint folder when an interrupted training goes on there, else a new one.

    Args:
        varied: `key=value` in which the run differs from others of its recipe, for its name and parameters.
        parent: the run that this one is a part of.
    """
    interrupted = tracking.noted(job.out, uri)
    if interrupted:
        interrupted.reopen()
        return interrupted
    card = Card.read(job.examples)
    tags = {
        "task": job.recipe.task.name,
        "arch": job.recipe.arch,
        "examples_digest": card.digest,
        "init": ", ".join(job.init),
    }
    tags |= tracking.claim(job.out, uri)
    name, parameters = " ".join([job.recipe.name, *varied]), config.override(job.recipe.to_dict(), varied)
    tracked = tracking.create_run(uri, experiment, name, parameters, tags, parent)
    tracked.log_dataset(job.examples, card, "training")
    tracked.note(job.out)
    return tracked


def after_the_end(job: Job, uri: str, name: str) -> int:
    """What is left to do of a finished training: closing its run, if that was interrupted, or registering it by another name."""
    tracked = tracking.noted(job.out, uri)
    if tracked and (not tracked.finished or (name and not tracked.is_registered(name))):
        close_run(job, tracked, name)
    else:
        terminal.say(f"{job.out} is finished; delete it to train again")
    return 0


def close_run(job: Job, tracked: Run, name: str) -> None:
    """Log what a finished training has left, register it as model `name` if that is given, and close its run."""
    series = read_history(sources.join(job.out, HISTORY))
    tracked.log_picture(
        "loss",
        png.png(curves.loss_curve({name: series[name] for name in ("loss", "dev.loss") if name in series}, "loss")),
    )
    tracked.log_checkpoint(job.out)
    if name:
        register(tracked, name)
    tracked.finish()
    terminal.say(f"checkpoint: {job.out}\nMLflow run: {tracked.run_id}")


def register(tracked: Run, name: str) -> None:
    """Make the checkpoint in the run a version of model `name`, unless it is one."""
    if not tracked.is_registered(name):
        version = tracked.register(name)
        terminal.say(f"registered: models:/{name}@{tracking.ALIAS} (version {version})")
