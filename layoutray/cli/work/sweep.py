"""Trains a recipe with several values of one key, and picks the value that is best on dev."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from layoutray import config
from layoutray.cli.shared import terminal, tracked_training, trials
from layoutray.cli.shared.trials import Result
from layoutray.cli.sweep import SweepOptions
from layoutray.compare.pictures import metric_by_value
from layoutray.errors import InputError, LayoutrayError
from layoutray.report import png
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.store.output_lock import working_on
from layoutray.tracking import metric_names, runs
from layoutray.tracking.runs import Run

Value = int | float | str


def run(chosen: SweepOptions) -> int:
    key, values = _key_and_values(chosen.over)
    tracked_training.check_tracking(chosen.tracking_uri, chosen.register)
    planned = trials.planned(chosen, [[assignment(key, value)] for value in values])
    examples = planned[0].job.examples
    if not Card.read(examples).examples.get("dev"):
        raise InputError(f"{examples} has no dev examples to compare trials on; encode pages that have a dev split")
    waiting = trials.check(planned)
    if chosen.dry_run:
        return trials.show_plan(planned, chosen)
    with working_on(sources.absolute(chosen.out)):
        trials.claim(chosen.out, {"over": key}, "a sweep over another key")
        parent = trials.open_whole(planned, chosen, [f"{key}=*"])
        with parent.failed_on_error():
            results = trials.train(planned, waiting, parent, chosen)
            tried = best_first([*zip(values, results, strict=True)])
            _show(tried, key, parent)
        parent.finish()
        _report(*tried[0], key, chosen)
    return 0


def best_first(tried: Iterable[tuple[Value, Result]]) -> list[tuple[Value, Result]]:
    """Sorted by metric, best first; ties by value, as smaller is usually cheaper. Trials without a metric come last."""

    def rank(one: tuple[Value, Result]) -> tuple[float, Any]:
        value, result = one
        sign = 1 if result.trial.job.recipe.task.objective[1] == "min" else -1
        return (math.inf if result.metric is None else sign * result.metric), value

    return sorted(tried, key=rank)


def assignment(key: str, value: Value) -> str:
    """`key=value`, which `config.override` reads back as the same value."""
    text = str(value)
    return f"{key}={text if config.value_of(text) == value and not isinstance(value, bool) else json.dumps(value)}"


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


def _show(tried: Sequence[tuple[Value, Result]], key: str, parent: Run) -> None:
    """Show and log the trials, best first. Raises LayoutrayError if none has a metric."""
    (best_value, best), objective = tried[0], trials.objective(tried[0][1].trial)
    columns = (key, objective, "seconds", "status")
    rows = [
        (
            value,
            "" if one.metric is None else one.metric,
            "" if one.seconds is None else f"{one.seconds:.1f}",
            "failed" if one.error else "finished before" if one.seconds is None else "trained",
        )
        for value, one in tried
    ]
    terminal.show_table(f"{best.trial.job.recipe.name} over {key}", columns, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    parent.client.log_text(parent.run_id, text.getvalue(), "trials.csv")
    reasons = trials.reasons(one for _, one in tried)
    if best.metric is None:
        raise LayoutrayError(f"all trials have failed\n{reasons}")
    if reasons:
        terminal.say(reasons)
    points = sorted((value, one.metric) for value, one in tried if one.metric is not None)
    parent.log_picture("metric_by_value", png.png(metric_by_value(points, best_value, key, objective)))
    parent.log_metrics(0, {metric_names.of_checkpoint(objective): best.metric})
    parent.describe()
    terminal.say(f"best: {best.trial.name}, {best.trial.job.out}")


def _report(value: Value, best: Result, key: str, chosen: SweepOptions) -> None:
    """Write the best trial to `best.json` and stdout, and register its checkpoint if asked to."""
    folder = str(best.trial.job.out)
    report = {
        "key": key,
        "value": value,
        "objective": trials.objective(best.trial),
        "metric": best.metric,
        "folder": folder,
    }
    terminal.show_report(report, sources.join(chosen.out, "best.json"))
    if chosen.register and (run := runs.noted(folder, chosen.tracking_uri)):
        tracked_training.register(run, chosen.register)
