"""`layoutray pretrain` and `layoutray finetune`: one training, in this process, under torchrun, or on Ray workers."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutray.cli.shared import options, terminal, tracked_training
from layoutray.cli.shared.options import JobOptions
from layoutray.cli.verbs import needs_extra
from layoutray.cluster import train as on_ray
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers
from layoutray.devices import visible_gpus
from layoutray.recipe import recipes
from layoutray.store import sources
from layoutray.tracking import registered
from layoutray.tracking import training as tracking
from layoutray.tracking.runs import Run
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob, check, prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, ProgressBar
from layoutray.training.train import train_in_place
from layoutray.training.world import World


@dataclass(frozen=True, kw_only=True)
class TrainOptions(JobOptions):
    """Options of `layoutray pretrain` and `layoutray finetune`.

    Attributes:
        workers: Ray Train workers; 0 trains in this process, or under torchrun.
        min_workers: see `Workers.least`.
        register: name of the registered model; empty registers none.
    """

    workers: int
    min_workers: int
    register: str


def pretrain(arguments: Sequence[str] | None = None) -> int:
    return _main("pretrain", arguments)


def finetune(arguments: Sequence[str] | None = None) -> int:
    return _main("finetune", arguments)


@dataclass(frozen=True)
class Trained:
    """A finished training.

    Attributes:
        checkpoint: its folder or address.
        metrics: those of the evaluation at which the model was saved; also `step`.
    """

    checkpoint: str
    metrics: Mapping[str, float]


@needs_extra("finetune")
def train(recipe: str, examples: str | Path, *, out: str | Path, **given: Any) -> Trained:
    """Train a model; an interrupted training resumes. `layoutray.pretrain` and `layoutray.finetune` are this function.

    Args:
        recipe: name of a shipped training recipe, or a .toml file.
        examples: folder that `encode` has written.
        out: folder (on a disk that all nodes share) or s3:// address for the checkpoint.
        given: other options of the verb, such as `init`, `workers`, `max_failures` and `register`; `overrides` is
            `--set`.

    Raises:
        RecipeError: if there is no such recipe, or a key has a value that is not allowed.
        InputError: if there is no such option, the examples do not fit the recipe, or there is no checkpoint of `init`.
        TrainingError: if the loss is not finite.
    """
    parsed = _parse("finetune", [f"--out={out}", "--", recipe, str(examples)])
    named = "".join(f", {name}={value!r}" for name, value in given.items())
    call = f"layoutray.finetune({recipe!r}, {str(examples)!r}, out={str(out)!r}{named})"
    _train(replace(options.with_options(parsed, given), command=options.command_line(call, [])))
    folder = sources.absolute(str(out))
    return Trained(folder, json.loads(sources.read_bytes(sources.join(folder, "metrics.json"))))


def _main(verb: str, arguments: Sequence[str] | None) -> int:
    chosen = _parse(verb, arguments)
    if chosen.dry_run:
        where = {"examples": sources.absolute(chosen.examples), "checkpoint": sources.absolute(chosen.out)}
        plan = {**where, "init": chosen.init, "workers": chosen.workers}
        return terminal.show_plan(recipes.load(chosen.recipe, chosen.overrides), plan)
    _train(chosen)
    return 0


def _train(chosen: TrainOptions) -> None:
    workers = Workers(
        count=chosen.workers,
        least=chosen.min_workers,
        cpus=chosen.cpus,
        gpus=chosen.gpus,
        threads=chosen.threads,
        max_failures=chosen.max_failures,
    )
    job = Job(
        recipe=recipes.load(chosen.recipe, chosen.overrides),
        examples=sources.absolute(chosen.examples),
        out=sources.absolute(chosen.out),
        init=tracked_training.starting_checkpoints(chosen.init, chosen.tracking_uri),
        fetch=registered.fetcher(chosen.tracking_uri),
    )
    if chosen.workers:
        _train_on_ray(job, workers, chosen)
    else:
        with worlds.from_environment(0 if chosen.gpus == 0 else visible_gpus()) as world:
            _train_here(job, world, chosen)


def _parse(verb: str, arguments: Sequence[str] | None) -> TrainOptions:
    parser = options.parser(verb)
    options.add_job(parser)
    options.add_training_options(parser, "worker", cpus=Workers.cpus, max_failures=Workers.max_failures)
    options.add_register(parser)
    options.add_workers(
        parser, 0, "Ray Train workers; 0 trains in this process, or under torchrun (default: %(default)s)"
    )
    parser.add_argument(
        "--min-workers",
        type=int,
        default=0,
        help="minimum number of workers to continue with after nodes are lost; 0 waits until all are back "
        "(default: %(default)s)",
    )
    return options.parse_training(parser, arguments, TrainOptions)


def _train_on_ray(job: Job, workers: Workers, chosen: TrainOptions) -> None:
    if jobs.finished(job):
        tracked_training.close_finished(job, chosen.tracking_uri, chosen.register)
        return
    checked = check(job, workers.count)
    with _tracked(checked, chosen) as (run, bar), connect():
        on_ray.train(checked, workers, partial(tracking.reporters, job, run), bar)


def _train_here(job: Job, world: World, chosen: TrainOptions) -> None:
    """Train in this process and the others of `world`; only rank 0 writes to MLflow and to the terminal."""
    if jobs.finished(job):
        if world.leads:
            tracked_training.close_finished(job, chosen.tracking_uri, chosen.register)
        return
    inputs = prepare(job, world.size)
    if not world.leads:
        train_in_place(inputs, world, CompositeReporter([]))
        return
    with _tracked(inputs.checked, chosen) as (run, bar):
        train_in_place(inputs, world, CompositeReporter([bar, *tracking.reporters(job, run)]))


@contextmanager
def _tracked(checked: CheckedJob, chosen: TrainOptions) -> Generator[tuple[Run, ProgressBar]]:
    """The run of a training and its bar on the terminal. The block trains; the run is then closed."""
    job = checked.job
    tracked_training.describe_start(checked)
    run = tracking.open_run(job, checked.card, tracked_training.tracking_of(chosen))
    with run.failed_on_error(), ProgressBar(job.recipe.name) as bar:
        yield run, bar
    tracked_training.close_run(job, run, chosen.register)
