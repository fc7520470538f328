"""Train a recipe with one key at several values, and choose the value that is best on dev."""

import argparse
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from layoutray import config, recipe, tracking
from layoutray.cluster import sweep
from layoutray.cluster.connect import connect
from layoutray.cluster.sweep import Share, Trial, Value
from layoutray.errors import CheckpointError, InputError, LayoutrayError
from layoutray.report import png
from layoutray.report.trials import metric_by_value
from layoutray.store import shards, sources
from layoutray.tracking import Run
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter
from pipelines import _terminal as terminal
from pipelines import _training as training


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    uri = options.tracking_uri or tracking.default_uri()
    share = Share(options.at_once, options.cpus, options.gpus)
    key, values = _over(options.over)
    trials = _jobs(options, uri, key, values)
    first = trials[values[0]]
    if options.dry_run:
        plan = {
            "examples": first.examples,
            "init": options.init,
            "at_once": share.at_once,
            "cpus": share.cpus,
            "gpus": share.gpus,
        }
        return terminal.show_plan(first.recipe, {**plan, "checkpoints": [str(job.out) for job in trials.values()]})
    waiting = {value: job for value, job in trials.items() if not jobs.finished(job)}
    _claim(options.out, key)
    training.say_beforehand(first, workers=1)
    parent = training.open_run(replace(first, out=sources.absolute(options.out)), uri, options.experiment, [f"{key}=*"])
    try:
        results = _train(waiting, key, parent, share, options) if waiting else []
        for value in trials.keys() - waiting.keys():
            training.after_the_end(trials[value], uri, "")
            results.append(sweep.finished(value, trials[value]))
        best = _choose(sweep.best_first(results), key, parent)
    except BaseException:
        parent.finish("FAILED")
        raise
    parent.finish()
    report = {
        "key": key,
        "value": best.value,
        "objective": sweep.objective(best.job),
        "metric": best.metric,
        "folder": str(best.job.out),
    }
    shards.write_bytes((json.dumps(report, indent=2) + "\n").encode(), options.out, "best.json")
    sys.stdout.write(json.dumps(report) + "\n")
    if options.register and (run := tracking.noted(best.job.out, uri)):
        training.register(run, options.register)
    return 0


def _parser() -> argparse.ArgumentParser:
    made = training.parser("sweep", __doc__)
    training.add_init_option(made)
    made.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        help="a recipe key by its dotted path, and the values to try",
    )
    made.add_argument("--at-once", type=int, default=0, help="trials at the same time; 0 is as many as the cores hold")
    made.add_argument("--cpus", type=int, default=1, help="CPUs of each trial")
    return made


def _over(given: Sequence[str]) -> tuple[str, list[Value]]:
    """The key and the values of `--over`."""
    if len(given) > 1:
        raise InputError(f"--over is given {len(given)} times; a sweep varies one key, fix the others with --set")
    key, _, listed = given[0].partition("=")
    if not key or not listed:
        raise InputError(f"--over {given[0]!r} must look like KEY=VALUE,VALUE, such as model.top_k=512,128")
    values = [config.value_of(text.strip()) for text in listed.split(",")]
    if len(values) < 2:
        raise InputError(f"--over {given[0]!r} has one value; give two or more to choose from")
    for value in values:
        if not isinstance(value, Value):
            raise InputError(f"--over {given[0]!r} has the value {value!r}; a value is a number or a text")
        if values.count(value) > 1:
            raise InputError(f"--over {given[0]!r} repeats {value}; give each value once")
    return key, values


def _jobs(options: argparse.Namespace, uri: str, key: str, values: Sequence[Value]) -> dict[Value, Job]:
    """A job for each value, in a folder of its own; every recipe is resolved here, before anything is trained."""
    start, examples = training.starting_checkpoints(options.init, uri), sources.absolute(options.examples)
    recipes = {value: recipe.load(options.recipe, [*options.set, f"{key}={value}"]) for value in values}
    return {
        value: Job(chosen, examples, sources.absolute(sources.join(options.out, f"{key}={value}")), start)
        for value, chosen in recipes.items()
    }


def _claim(out: str, key: str) -> None:
    """Mark `out` as the folder of a sweep over `key`, the way a training marks its own."""
    file = sources.join(out, jobs.JOB)
    if sources.exists(file) and json.loads(sources.read_bytes(file)) != {"over": key}:
        raise CheckpointError(
            f"{out} holds another training, or a sweep over another key; give another --out, or delete that folder"
        )
    shards.write_bytes(json.dumps({"over": key}).encode(), out, jobs.JOB)


def _train(
    waiting: Mapping[Value, Job], key: str, parent: Run, share: Share, options: argparse.Namespace
) -> list[Trial]:
    """Train what is not finished, in a run of its own each; the processes close the runs of what went well."""

    def ended(value: Value) -> None:
        terminal.say(f"{key}={value} has ended")

    runs: dict[Value, Run] = {}
    try:
        for value, job in waiting.items():
            runs[value] = training.open_run(job, parent.uri, options.experiment, [f"{key}={value}"], parent)
        terminal.say(f"{len(waiting)} trials; MLflow shows how far they are, in run {parent.run_id}")
        with connect():
            trained = sweep.train(waiting, options.out, share, partial(_trial, waiting, runs), ended)
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


def _trial(waiting: Mapping[Value, Job], runs: Mapping[Value, Run], value: Value) -> None:
    """What a trial's process does."""
    job, run = waiting[value], runs[value]
    jobs.train_in_place(job, worlds.single_process(), CompositeReporter(training.reporters(job, run)))
    training.close_run(job, run, "")


def _choose(results: Sequence[Trial], key: str, parent: Run) -> Trial:
    """Show and log what the trials, best first, have come to. Raises LayoutrayError where there is nothing to choose from."""
    best, objective = results[0], sweep.objective(results[0].job)
    columns, rows = (key, objective, "seconds", "status"), [_row(trial) for trial in results]
    terminal.show_table(f"{best.job.recipe.name} over {key}", columns, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    parent.client.log_text(parent.run_id, text.getvalue(), "trials.csv")
    reasons = "\n".join(f"{key}={trial.value}: {trial.error}" for trial in results if trial.error)
    if best.metric is None:
        raise LayoutrayError(f"every trial has failed\n{reasons}")
    if reasons:
        terminal.say(reasons)
    points = sorted((trial.value, trial.metric) for trial in results if trial.metric is not None)
    parent.log_picture("metric_by_value", png.png(metric_by_value(points, best.value, key, objective)))
    terminal.say(f"best: {key}={best.value}, {best.job.out}")
    return best


def _row(trial: Trial) -> tuple[Value, float | str, str, str]:
    status = "failed" if trial.error else "finished before" if trial.seconds is None else "trained"
    return (
        trial.value,
        "" if trial.metric is None else trial.metric,
        "" if trial.seconds is None else f"{trial.seconds:.1f}",
        status,
    )


if __name__ == "__main__":
    sys.exit(terminal.run(main))
