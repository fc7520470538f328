"""`layoutray learning-curve`: what a recipe reaches with fewer documents, and what more labels would bring."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutray.cli.shared import options, terminal, tracked_training, tracked_trials
from layoutray.cli.shared.evaluation_options import SelectionOptions, add_selection_options
from layoutray.cli.shared.options import JobOptions
from layoutray.cli.shared.tracked_trials import SeedOptions, Trials
from layoutray.cluster.sweep import Value
from layoutray.compare.curve_picture import learning_curve
from layoutray.compare.learning_curve import LearningCurve
from layoutray.errors import InputError
from layoutray.evaluation.measurement import kept_measurement
from layoutray.metrics.bootstrap import Interval
from layoutray.recipe import recipes
from layoutray.report import png
from layoutray.store import json_text, shards, sources
from layoutray.store.card import Card
from layoutray.tracking import registered
from layoutray.tracking.runs import Run
from layoutray.training.inputs import training_documents
from layoutray.training.job import Job

_ALL = 0
"""Number of documents that `all` means, as in the recipe key `train.documents`."""
_MORE = 20
"""Additional documents whose gain is predicted."""


@dataclass(frozen=True, kw_only=True)
class LearningCurveOptions(SeedOptions, JobOptions, SelectionOptions):
    """Options of `layoutray learning-curve`.

    Attributes:
        documents: numbers of training documents; `_ALL` for all.
    """

    documents: Sequence[int]


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    selection = chosen.selection()
    selection.require_pages(selection.num_pages)
    available = len(training_documents(chosen.examples))
    names = {size: [_name(size, seed) for seed in chosen.distinct_seeds] for size in _sizes(chosen, available)}
    every = [name for of_seeds in names.values() for name in of_seeds]
    planned = _planned(chosen, every)
    first = next(iter(planned.values()))
    if chosen.dry_run:
        plan = {"examples": first.examples, "init": chosen.init, **vars(chosen.share())}
        return terminal.show_plan(first.recipe, {**plan, "checkpoints": [job.out for job in planned.values()]})
    trials = Trials.check(planned, {name: name.split() for name in every})
    tracked_trials.claim(chosen.out, {"curve": "train.documents"}, "trials of another verb")
    with tracked_trials.closing(_open_parent(first, chosen)) as parent:
        tracked_trials.train_every(trials, parent, chosen)
        measured = {
            size: [kept_measurement(str(planned[name].out), selection) for name in of_seeds]
            for size, of_seeds in names.items()
        }
        passes = {size: _passes(first, size / available) for size in measured}
        _report(LearningCurve.of(measured), passes, f"{first.recipe.name} on {selection.name}", chosen.out, parent)
    return 0


def _parse(arguments: Sequence[str] | None) -> LearningCurveOptions:
    parser = options.parser("learning-curve")
    options.add_job(parser)
    tracked_trials.add_trial_options(parser)
    add_selection_options(parser)
    parser.set_defaults(split="dev")
    parser.add_argument(
        "--documents",
        nargs="+",
        type=_size,
        default=[5, 10, 20, 50, 100, _ALL],
        metavar="NUMBER",
        help="numbers of training documents, or `all` (default: 5 10 20 50 100 all)",
    )
    tracked_trials.add_seeds(parser, "each chooses documents and initial weights")
    return options.parse_training(parser, arguments, LearningCurveOptions)


def _size(text: str) -> int:
    return _ALL if text == "all" else options.positive(text)


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


def _name(size: int, seed: int) -> str:
    """The name of a trial: the assignments in which it differs from others."""
    return f"train.documents={size} seed={seed}"


def _planned(chosen: LearningCurveOptions, names: Sequence[str]) -> dict[Value, Job]:
    """The job of each trial, in a folder of its own."""
    start = tracked_training.starting_checkpoints(chosen.init, chosen.tracking_uri)
    examples, out = sources.absolute(chosen.examples), sources.absolute(chosen.out)
    return {
        name: Job(
            recipes.load(chosen.recipe, [*chosen.overrides, *name.split()]),
            examples,
            sources.join(out, name.replace(" ", ",")),
            start,
            registered.fetcher(chosen.tracking_uri),
        )
        for name in names
    }


def _open_parent(first: Job, chosen: LearningCurveOptions) -> Run:
    """The run of the whole curve."""
    whole = replace(first, out=sources.absolute(chosen.out))
    varied = ["train.documents=*", "seed=*"]
    return tracked_training.open_run(whole, Card.read(first.examples), chosen, varied)


def _passes(job: Job, share: float) -> float:
    """How often all steps of `job` see each document, if it trains on a `share` of the training documents."""
    windows = share * Card.read(job.examples).examples["train"]
    return job.recipe.train.steps * job.recipe.train.batch_size / windows


def _report(curve: LearningCurve, passes: dict[int, float], title: str, out: str, parent: Run) -> None:
    """Show the curve; write `curve.json` and `curve.png`, also into the run."""
    intervals = {size: point.interval for size, point in curve.points.items()}
    rows = [(size, f"{passes[size]:.1f}", one.value, one.low, one.high) for size, one in intervals.items()]
    terminal.show_table(title, ("training documents", "passes", curve.metric, "low", "high"), rows)
    terminal.say(_gain(curve))
    terminal.say(_check(curve))
    ahead = curve.last + _MORE
    picture = png.png(learning_curve(intervals, curve.values, {ahead: curve.predicted(ahead).interval}, curve.metric))
    text = json_text.dumps(curve.report(_MORE), indent=2) + "\n"
    shards.write_bytes(text.encode(), out, "curve.json")
    shards.write_bytes(picture, out, "curve.png")
    parent.client.log_text(parent.run_id, text, "curve.json")
    parent.log_picture("curve", picture)
    sys.stdout.write(text)


def _gain(curve: LearningCurve) -> str:
    gain, ahead = curve.gain(_MORE).interval, curve.last + _MORE
    return (
        f"{_MORE} more labelled documents, {ahead} instead of {curve.last}, would change {curve.metric} by "
        f"{_signed(gain)}, if the error goes on to fall by a power of their number"
    )


def _check(curve: LearningCurve) -> str:
    """Whether such a prediction was right for the last size."""
    smaller = curve.without_last()
    if smaller is None:
        return "a check of this prediction needs three or more numbers of training documents"
    predicted, measured = smaller.predicted(curve.last), curve.points[curve.last]
    error = measured.minus(predicted).interval
    verdict = "as predicted" if error.low <= 0 <= error.high else "not as predicted, so do not rely on it"
    return (
        f"check: from up to {smaller.last} documents, {predicted.value:.3f} was predicted for {curve.last}, and "
        f"{measured.value:.3f} was measured, a difference of {_signed(error)}: {verdict}"
    )


def _signed(one: Interval) -> str:
    return f"{one.value:+.3f} (95 % interval {one.low:+.3f} to {one.high:+.3f})"
