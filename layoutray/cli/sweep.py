"""`layoutray sweep`: train a recipe with several values of one key, and pick the value that is best on dev."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutray import config
from layoutray.cli.shared import options, terminal, tracked_training, tracked_trials
from layoutray.cli.shared.options import JobOptions
from layoutray.cli.shared.tracked_trials import TrialOptions, Trials
from layoutray.cluster import sweep
from layoutray.cluster.sweep import Trial, Value
from layoutray.compare.trials_picture import metric_by_value
from layoutray.errors import InputError, LayoutrayError
from layoutray.recipe import recipes
from layoutray.report import png
from layoutray.store import shards, sources
from layoutray.store.card import Card
from layoutray.tracking import metric_names, registered, runs
from layoutray.tracking.runs import Run
from layoutray.training.job import Job


@dataclass(frozen=True, kw_only=True)
class SweepOptions(TrialOptions, JobOptions):
    """Options of `layoutray sweep`.

    Attributes:
        over: `KEY=VALUE,VALUE`; exactly one.
        register: name of the registered model; empty registers none.
    """

    over: Sequence[str]
    register: str


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    share = chosen.share()
    key, values = _key_and_values(chosen.over)
    planned = _planned(chosen, key, values)
    first = planned[values[0]]
    if chosen.dry_run:
        plan = {"examples": first.examples, "init": chosen.init, **vars(share)}
        return terminal.show_plan(first.recipe, {**plan, "checkpoints": [job.out for job in planned.values()]})
    _require_dev(first)
    trials = Trials.check(planned, {value: [assignment(key, value)] for value in values})
    tracked_trials.claim(chosen.out, {"over": key}, "a sweep over another key")
    with tracked_trials.closing(_open_parent(first, key, chosen)) as parent:
        best = _best(sweep.best_first(tracked_trials.train(trials, parent, chosen)), trials, key, parent)
    _report(best, key, chosen)
    return 0


def _require_dev(job: Job) -> None:
    if not Card.read(job.examples).examples.get("dev"):
        raise InputError(f"{job.examples} has no dev examples to compare trials on; encode pages that have a dev split")


def assignment(key: str, value: Value) -> str:
    """`key=value`, which `config.override` reads back as the same value."""
    text = str(value)
    return f"{key}={text if config.value_of(text) == value and not isinstance(value, bool) else json.dumps(value)}"


def _parse(arguments: Sequence[str] | None) -> SweepOptions:
    parser = options.parser("sweep")
    options.add_job(parser)
    tracked_trials.add_trial_options(parser)
    options.add_register(parser)
    parser.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        help="recipe key, given by its dotted path, and the values to try",
    )
    return options.parse_training(parser, arguments, SweepOptions)


def _planned(chosen: SweepOptions, key: str, values: Sequence[Value]) -> dict[Value, Job]:
    """A job for each value, in a folder of its own. All recipes are resolved here, before anything is trained."""
    start = tracked_training.starting_checkpoints(chosen.init, chosen.tracking_uri)
    examples, out = sources.absolute(chosen.examples), sources.absolute(chosen.out)
    return {
        value: Job(
            recipes.load(chosen.recipe, [*chosen.overrides, assignment(key, value)]),
            examples,
            sources.join(out, assignment(key, value)),
            start,
            registered.fetcher(chosen.tracking_uri),
        )
        for value in values
    }


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


def _open_parent(first: Job, key: str, chosen: SweepOptions) -> Run:
    """The run of the whole sweep, with the recipe of its first job."""
    whole = replace(first, out=sources.absolute(chosen.out))
    return tracked_training.open_run(whole, Card.read(first.examples), chosen, [f"{key}=*"])


def _best(results: Sequence[Trial], trials: Trials, key: str, parent: Run) -> Trial:
    """Show and log the trials, which are sorted with the best first. Raises LayoutrayError if none has a metric."""
    best, objective = results[0], sweep.objective(results[0].job)
    columns, rows = (key, objective, "seconds", "status"), [_row(trial) for trial in results]
    terminal.show_table(f"{best.job.recipe.name} over {key}", columns, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    parent.client.log_text(parent.run_id, text.getvalue(), "trials.csv")
    reasons = tracked_trials.reasons(trials, results)
    if best.metric is None:
        raise LayoutrayError(f"all trials have failed\n{reasons}")
    if reasons:
        terminal.say(reasons)
    points = sorted((trial.value, trial.metric) for trial in results if trial.metric is not None)
    parent.log_picture("metric_by_value", png.png(metric_by_value(points, best.value, key, objective)))
    parent.log_metrics(0, {metric_names.of_checkpoint(objective): best.metric})
    parent.describe()
    terminal.say(f"best: {trials.name(best.value)}, {best.job.out}")
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
    if chosen.register and (run := runs.noted(best.job.out, chosen.tracking_uri)):
        tracked_training.register(run, chosen.register)
