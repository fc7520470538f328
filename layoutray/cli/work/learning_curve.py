"""Trains a recipe on growing numbers of documents, and predicts what more labels would bring."""

import sys
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from layoutray.cli.learning_curve import LearningCurveOptions
from layoutray.cli.shared import terminal, tracked_training, trials
from layoutray.compare.learning_curve import LearningCurve
from layoutray.compare.pictures import learning_curve
from layoutray.errors import InputError
from layoutray.evaluation.measurement import Measurement, kept_measurement
from layoutray.report import png
from layoutray.store import json_text, shards, sources
from layoutray.store.card import Card
from layoutray.store.output_lock import working_on
from layoutray.tracking.runs import Run
from layoutray.training.inputs import training_documents

_MORE = 20
"""Additional documents whose gain is predicted."""


def run(chosen: LearningCurveOptions) -> int:
    tracked_training.check_tracking(chosen.tracking_uri)
    selection = chosen.selection()
    selection.require_pages(selection.num_pages)
    available = len(training_documents(chosen.examples))
    varied = [(size, f"seed={seed}") for size in _sizes(chosen, available) for seed in chosen.distinct_seeds]
    planned = trials.planned(chosen, [[f"train.documents={size}", seed] for size, seed in varied])
    waiting = trials.check(planned)
    if chosen.dry_run:
        return trials.show_plan(planned, chosen)
    first = planned[0].job
    # How often all steps see each document.
    seen = first.recipe.train.steps * first.recipe.train.batch_size / Card.read(first.examples).examples["train"]
    with working_on(sources.absolute(chosen.out)):
        trials.claim(chosen.out, {"curve": "train.documents"}, "trials of another verb")
        parent = trials.open_whole(planned, chosen, ["train.documents=*", "seed=*"])
        with parent.failed_on_error():
            trials.train_every(planned, waiting, parent, chosen)
            measured: dict[int, list[Measurement]] = defaultdict(list)
            for (size, _), trial in zip(varied, planned, strict=True):
                measured[size].append(kept_measurement(str(trial.job.out), selection))
            passes = {size: seen * available / size for size in measured}
            _report(LearningCurve.of(measured), passes, f"{first.recipe.name} on {selection.name}", chosen.out, parent)
        parent.finish()
    return 0


def _sizes(chosen: LearningCurveOptions, available: int) -> list[int]:
    """The numbers of training documents, ascending. Says which are more than the `available` ones."""
    wanted = {size or available for size in chosen.documents}
    if too_many := sorted(size for size in wanted if size > available):
        numbers = ", ".join(map(str, too_many))
        terminal.say(f"{chosen.examples} has {available} training documents: left out are the sizes {numbers}")
    sizes = sorted(wanted - {*too_many})
    if len(sizes) < 2:
        raise InputError(
            f"a curve needs two or more numbers of training documents, and {chosen.examples} has {available}; "
            "give smaller ones to --documents"
        )
    return sizes


def _report(curve: LearningCurve, passes: dict[int, float], title: str, out: str, parent: Run) -> None:
    """Show the curve; write `curve.json` and `curve.png`, also into the run."""
    intervals = {size: point.interval for size, point in curve.points.items()}
    rows = [(size, f"{passes[size]:.1f}", one.value, one.low, one.high) for size, one in intervals.items()]
    terminal.show_table(title, ("training documents", "passes", curve.metric, "low", "high"), rows)
    report, ahead = curve.report(_MORE), curve.last + _MORE
    if not any(map(any, curve.values.values())):
        terminal.say(f"no model has found a value: each {curve.metric} is 0, which predicts nothing; train longer")
    terminal.say(
        f"{_MORE} more labelled documents, {ahead} instead of {curve.last}, would change {curve.metric} by "
        f"{_signed(report['gain'])}, if the error goes on to fall by a power of their number"
    )
    terminal.say(_check(report))
    picture = png.png(learning_curve(intervals, curve.values, {ahead: curve.predicted(ahead).interval}, curve.metric))
    text = json_text.dumps(report, indent=2) + "\n"
    shards.write_bytes(text.encode(), out, "curve.json")
    shards.write_bytes(picture, out, "curve.png")
    parent.client.log_text(parent.run_id, text, "curve.json")
    parent.log_picture("curve", picture)
    sys.stdout.write(text)


def _check(report: Mapping[str, Any]) -> str:
    """Whether such a prediction was right for the last size."""
    check, sizes = report["check"], [point["documents"] for point in report["points"]]
    if check is None:
        return "a check of this prediction needs three or more numbers of training documents"
    error = check["difference"]
    verdict = "as predicted" if error["low"] <= 0 <= error["high"] else "not as predicted, so do not rely on it"
    return (
        f"check: from up to {sizes[-2]} documents, {check['predicted']['value']:.3f} was predicted for {sizes[-1]}, "
        f"and {check['measured']['value']:.3f} was measured, a difference of {_signed(error)}: {verdict}"
    )


def _signed(one: Mapping[str, float]) -> str:
    return f"{one['value']:+.3f} (95 % interval {one['low']:+.3f} to {one['high']:+.3f})"
