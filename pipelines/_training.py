"""What `pretrain` and `finetune` share: choose this process or Ray, wire MLflow, draw the curve, register."""

import argparse
import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from layoutray import checkpoint, recipe, tracking
from layoutray.cluster import train as on_ray
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers
from layoutray.report import curves, png
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tracking import MlflowReporter, Run
from layoutray.training import job as jobs
from layoutray.training import resume
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY, JsonLines, ProgressBar, Reporter, Together, read_history
from pipelines import _terminal as terminal


def parser(verb: str, description: str | None) -> argparse.ArgumentParser:
    """Options of a training verb."""
    made = argparse.ArgumentParser(prog=f"layoutray {verb}", description=description)
    made.add_argument("recipe", help="a training recipe: its name, or a .toml file")
    made.add_argument("examples", help="folder that `layoutray encode` has written")
    made.add_argument(
        "--out", required=True, type=terminal.local_folder, help="checkpoint folder, on disks that all nodes see; an unfinished run goes on"
    )
    made.add_argument("--workers", type=int, default=0, help="Ray Train workers; 0 trains in this process (or under torchrun)")
    made.add_argument("--gpus", type=int, default=0, help="GPUs of each Ray worker")
    made.add_argument("--experiment", default="layoutray", help="MLflow experiment")
    made.add_argument("--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)")
    made.add_argument("--register", metavar="NAME", default="", help="register the model under this name, alias `champion`")
    terminal.add_recipe_options(made)
    return made


def run(options: argparse.Namespace, init: Sequence[str]) -> int:
    """Train as `options` say, from the encoders of the checkpoints `init`."""
    uri = options.tracking_uri or tracking.default_uri()
    start = tuple(str(tracking.checkpoint_folder(one, uri)[0].absolute()) for one in init)
    job = Job(recipe.load(options.recipe, options.set), sources.absolute(options.examples), options.out.absolute(), start)
    if options.dry_run:
        return terminal.show_plan(
            job.recipe, {"examples": job.examples, "checkpoint": str(job.out), "init": list(init), "workers": options.workers}
        )
    if jobs.finished(job):
        return _after_the_end(job, uri, options.register)
    if "WORLD_SIZE" in os.environ and not options.workers:
        return _under_torchrun(job, uri, options)
    tracked = _open_run(job, uri, options.experiment, max(options.workers, 1))
    try:
        with ProgressBar(job.recipe.name) as bar:
            if options.workers:
                with connect():
                    on_ray.train(job, Workers(options.workers, gpus=options.gpus), partial(reporters, job, tracked), bar)
            else:
                jobs.train(job, worlds.alone(), Together([bar, *reporters(job, tracked)]), _state(job), _resumable(job))
                shutil.rmtree(_state(job))
    except BaseException:
        tracked.finish("FAILED")
        raise
    _close_run(job, tracked, options.register)
    return 0


def reporters(job: Job, tracked: Run) -> Sequence[Reporter]:
    """Who listens on the leading worker."""
    job.out.mkdir(parents=True, exist_ok=True)
    return JsonLines(job.out / HISTORY), MlflowReporter(tracked)


def _under_torchrun(job: Job, uri: str, options: argparse.Namespace) -> int:
    with worlds.from_environment() as world:
        tracked = _open_run(job, uri, options.experiment, world.size) if world.leads else None
        with ProgressBar(job.recipe.name) as bar:
            jobs.train(job, world, Together([bar, *reporters(job, tracked)] if tracked else []), _state(job), _resumable(job))
        if tracked:
            shutil.rmtree(_state(job))
            _close_run(job, tracked, options.register)
    return 0


def _open_run(job: Job, uri: str, experiment: str, workers: int) -> Run:
    """The run noted in the checkpoint folder when an interrupted training goes on there, else a new one."""
    interrupted = tracking.noted(job.out, uri)
    if interrupted:
        interrupted.reopen()
        return interrupted
    fresh = jobs.rehearse(job, workers) if job.init else ()
    if fresh:
        terminal.say(f"freshly drawn, as no --init gives them: {checkpoint.listed(fresh)}")
    card = Card.read(job.examples)
    tags = {"task": job.recipe.task.name, "arch": job.recipe.arch, "examples_digest": card.digest, "init": ", ".join(job.init)}
    tracked = tracking.create_run(uri, experiment, job.recipe.name, job.recipe.to_dict(), tags)
    tracked.log_dataset(job.examples, card, "training")
    tracked.note(job.out)
    return tracked


def _after_the_end(job: Job, uri: str, register: str) -> int:
    """What is left to do of a finished training: closing its run, if that was interrupted, or registering it by another name."""
    tracked = tracking.noted(job.out, uri)
    if tracked and (not tracked.finished or (register and not tracked.is_registered(register))):
        _close_run(job, tracked, register)
    else:
        terminal.say(f"{job.out} is finished; delete it to train again")
    return 0


def _close_run(job: Job, tracked: Run, register: str) -> None:
    series = read_history(job.out / HISTORY)
    tracked.log_picture("loss", png.png(curves.loss_curve({name: series[name] for name in ("loss", "dev.loss") if name in series}, "loss")))
    tracked.log_checkpoint(job.out)
    version = tracked.register(register) if register else ""
    tracked.finish()
    terminal.say(f"checkpoint: {job.out}\nMLflow run: {tracked.run_id}")
    if version:
        terminal.say(f"registered: models:/{register}@{tracking.ALIAS} (version {version})")


def _state(job: Job) -> Path:
    return job.out / "state"


def _resumable(job: Job) -> Path | None:
    return _state(job) if resume.exists(_state(job)) else None
