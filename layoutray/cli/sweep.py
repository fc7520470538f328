"""`layoutray sweep`: train a recipe with several values of one key, and pick the value that is best on dev."""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from layoutray import config, recipe, tracking
from layoutray.cli import options, terminal, tracked_training
from layoutray.cli.options import TrainingOptions
from layoutray.cluster import sweep
from layoutray.cluster.connect import connect
from layoutray.cluster.sweep import Share, Trial, Value
from layoutray.errors import CheckpointError, InputError, LayoutrayError
from layoutray.report import png
from layoutray.report.trials import metric_by_value
from layoutray.store import shards, sources
from layoutray.store.card import Card
from layoutray.tracking import Run
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob, prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter
from layoutray.training.train import train_in_place


@dataclass(frozen=True, kw_only=True)
class SweepOptions(TrainingOptions):
    """Options of `layoutray sweep`.

    Attributes:
        over: `KEY=VALUE,VALUE`; exactly one.
        at_once: see `Share`.
    """

    over: Sequence[str]
    at_once: int

    def share(self) -> Share:
        """The resources that the trials may use."""
        return Share(
            at_once=self.at_once, cpus=self.cpus, gpus=self.gpus, threads=self.threads, max_failures=self.max_failures
        )


@dataclass(frozen=True)
class _Sweep:
    """The jobs of a sweep by value, and the recipe key in which they differ."""

    key: str
    jobs: Mapping[Value, Job]

    def assignment(self, value: Value) -> str:
        return assignment(self.key, value)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    share = chosen.share()
    planned = _planned(chosen)
    first = next(iter(planned.jobs.values()))
    if chosen.dry_run:
        plan = {"examples": first.examples, "init": chosen.init, **vars(share)}
        return terminal.show_plan(first.recipe, {**plan, "checkpoints": [job.out for job in planned.jobs.values()]})
    waiting = {value: sweep.check(job) for value, job in planned.jobs.items() if not jobs.finished(job)}
    _claim(chosen.out, planned.key)
    if waiting:
        tracked_training.describe_start(next(iter(waiting.values())))
    parent = _open_parent(planned, first, chosen)
    try:
        results = _train(waiting, planned, parent, chosen) if waiting else []
        for value in planned.jobs.keys() - waiting.keys():
            tracked_training.close_finished(planned.jobs[value], chosen.tracking_uri, "")
            results.append(sweep.finished(value, planned.jobs[value]))
        best = _best(sweep.best_first(results), planned, parent)
    except BaseException:
        parent.finish("FAILED")
        raise
    parent.finish()
    _report(best, planned.key, chosen)
    return 0


def assignment(key: str, value: Value) -> str:
    """`key=value`, which `config.override` reads back as the same value."""
    text = str(value)
    return f"{key}={text if config.value_of(text) == value and not isinstance(value, bool) else json.dumps(value)}"


def _parse(arguments: Sequence[str] | None) -> SweepOptions:
    parser = options.parser("sweep")
    options.add_training_options(parser, "trial", cpus=Share.cpus, max_failures=Share.max_failures)
    parser.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        help="recipe key, given by its dotted path, and the values to try",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=0,
        help="concurrent trials; 0 is as many as the cores allow, or all if nodes may join the cluster "
        "(default: %(default)s)",
    )
    return options.parse(parser, arguments, SweepOptions)


def _planned(chosen: SweepOptions) -> _Sweep:
    """A job for each value, in a folder of its own. All recipes are resolved here, before anything is trained."""
    key, values = _key_and_values(chosen.over)
    start = tracked_training.starting_checkpoints(chosen.init, chosen.tracking_uri)
    examples, out = sources.absolute(chosen.examples), sources.absolute(chosen.out)
    return _Sweep(
        key,
        {
            value: Job(
                recipe.load(chosen.recipe, [*chosen.overrides, assignment(key, value)]),
                examples,
                sources.join(out, assignment(key, value)),
                start,
                tracking.fetcher(chosen.tracking_uri),
            )
            for value in values
        },
    )


def _key_and_values(over: Sequence[str]) -> tuple[str, list[Value]]:
    if len(over) > 1:
        raise InputError(f"--over is given {len(over)} times; a sweep varies one key, set the others with --set")
    key, _, listed = over[0].partition("=")
    if not key or not listed:
        raise InputError(f"--over {over[0]!r} must look like KEY=VALUE,VALUE, e.g. model.top_k=512,128")
    values = [config.value_of(text.strip()) for text in listed.split(",")]
    if len(values) < 2:
        raise InputError(f"--over {over[0]!r} has one value; give two or more to choose from")
    for value in values:
        if not isinstance(value, Value):
            raise InputError(
                f"--over {over[0]!r} has the value {value!r}; a value must be a number, a boolean or a text"
            )
        if values.count(value) > 1:
            raise InputError(f"--over {over[0]!r} repeats {value}; give each value once")
    return key, values


def _claim(out: str, key: str) -> None:
    """Mark `out` as the folder of a sweep over `key`, in the way of a training."""
    file = sources.join(out, jobs.JOB)
    if sources.exists(file) and json.loads(sources.read_bytes(file)) != {"over": key}:
        raise CheckpointError(
            f"{out} holds another training, or a sweep over another key; give another --out, or delete that folder"
        )
    shards.write_bytes(json.dumps({"over": key}).encode(), out, jobs.JOB)


def _open_parent(planned: _Sweep, first: Job, chosen: SweepOptions) -> Run:
    """The run of the whole sweep, with the recipe of its first job."""
    whole = replace(first, out=sources.absolute(chosen.out))
    varied = [f"{planned.key}=*"]
    return tracked_training.open_run(whole, Card.read(first.examples), chosen.tracking_uri, chosen.experiment, varied)


def _train(waiting: Mapping[Value, CheckedJob], planned: _Sweep, parent: Run, chosen: SweepOptions) -> list[Trial]:
    """Train the unfinished jobs, each in a run of its own, which the trial's process closes after success."""

    def ended(value: Value) -> None:
        terminal.say(f"{planned.assignment(value)} has ended")

    runs: dict[Value, Run] = {}
    try:
        for value, checked in waiting.items():
            varied = [planned.assignment(value)]
            runs[value] = tracked_training.open_run(
                checked.job, checked.card, parent.uri, chosen.experiment, varied, parent
            )
        terminal.say(f"{len(waiting)} trials; MLflow shows their progress in run {parent.run_id}")
        work = partial(_trial, {value: checked.job for value, checked in waiting.items()}, runs)
        with connect():
            trained = sweep.train(waiting, chosen.out, chosen.share(), work, ended)
    except BaseException:
        for run in runs.values():
            if not run.finished:
                run.finish("FAILED")
        raise
    for trial in trained:
        if trial.trace:
            run = runs[trial.value]
            run.client.log_text(run.run_id, trial.trace, "error.txt")
            run.finish("FAILED")
    return trained


def _trial(waiting: Mapping[Value, Job], runs: Mapping[Value, Run], value: Value, device: torch.device) -> None:
    """The work of a trial's process."""
    job, run = waiting[value], runs[value]
    reporter = CompositeReporter(tracked_training.reporters(job, run))
    train_in_place(prepare(job, workers=1), worlds.single_process(device), reporter)
    tracked_training.close_run(job, run, "")


def _best(results: Sequence[Trial], planned: _Sweep, parent: Run) -> Trial:
    """Show and log the trials, which are sorted with the best first. Raises LayoutrayError if none has a metric."""
    best, objective, key = results[0], sweep.objective(results[0].job), planned.key
    columns, rows = (key, objective, "seconds", "status"), [_row(trial) for trial in results]
    terminal.show_table(f"{best.job.recipe.name} over {key}", columns, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    parent.client.log_text(parent.run_id, text.getvalue(), "trials.csv")
    reasons = "\n".join(f"{planned.assignment(trial.value)}: {trial.error}" for trial in results if trial.error)
    if best.metric is None:
        raise LayoutrayError(f"all trials have failed\n{reasons}")
    if reasons:
        terminal.say(reasons)
    points = sorted((trial.value, trial.metric) for trial in results if trial.metric is not None)
    parent.log_picture("metric_by_value", png.png(metric_by_value(points, best.value, key, objective)))
    terminal.say(f"best: {planned.assignment(best.value)}, {best.job.out}")
    return best


def _row(trial: Trial) -> tuple[Value, float | str, str, str]:
    status = "failed" if trial.error else "finished before" if trial.seconds is None else "trained"
    return (
        trial.value,
        "" if trial.metric is None else trial.metric,
        "" if trial.seconds is None else f"{trial.seconds:.1f}",
        status,
    )


def _report(best: Trial, key: str, chosen: SweepOptions) -> None:
    """Write the best trial to `best.json` and stdout, and register its checkpoint if asked to."""
    report = {
        "key": key,
        "value": best.value,
        "objective": sweep.objective(best.job),
        "metric": best.metric,
        "folder": str(best.job.out),
    }
    shards.write_bytes((json.dumps(report, indent=2) + "\n").encode(), chosen.out, "best.json")
    sys.stdout.write(json.dumps(report) + "\n")
    if chosen.register and (run := tracking.noted(best.job.out, chosen.tracking_uri)):
        tracked_training.register(run, chosen.register)
