"""The review loop: a model of few documents, a review of its answers in Chromium by a script, and the retrained model.

A seed chooses the first documents and those that are reviewed. The script knows their values and corrects the answers
as a person does, with keys and the mouse. The model that is trained on both is promoted on the dev documents. The
endpoint answers the test documents before and after. A second script types all values of the reviewed documents over.

With `--questions`, a script reviews the `--more` documents that `select` chooses, and another one answers questions yes
or no over all other training documents, in a third of the time. Both begin with the answers of the model of the first
documents, or of the start with `--first 0`. It is trained further on the first documents and each review, and measured
on the test documents. The time of the questions is divided into rounds, and between two rounds such a model answers the
documents again.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure.question_round import QuestionRound
from benchmarks.measure.review_round import LoopSettings, ReviewRound, browser_program
from benchmarks.measure.spread import Spread
from benchmarks.options import RunsOptions, add_recipe, add_runs_options
from benchmarks.training_runs import Runs
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive, whole
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError
from layoutray.metrics.bootstrap import Estimate, f1

_BEFORE, _AFTER = "before", "after"
_WAYS = {"review": "confirmed or corrected", "retype": "all typed"}


@dataclass(frozen=True, kw_only=True)
class ReviewLoopOptions(RunsOptions):
    """Options of `review-loop`.

    Attributes:
        recipe: of fine-tuning, with [task.fields].
        pages: folder of documents with values and splits train, dev and test.
        start: checkpoint that every training starts from.
        first: number of documents that the first model is trained on.
        more: number of documents that are reviewed.
        questions: rounds of questions that a full review is compared with instead; 0 for none.
    """

    recipe: str
    pages: Path
    start: Path
    first: int
    more: int
    questions: int


def main(arguments: Sequence[str]) -> int:
    options = parse(_parser(), arguments, ReviewLoopOptions)
    browser_program()  # fails at once if there is none
    runs = Runs("review-loop", options)
    settings = LoopSettings(
        recipe=options.recipe,
        pages=options.pages,
        start=options.start,
        first=options.first,
        more=options.more,
        steps=options.steps,
        overrides=options.overrides,
    )
    if not settings.schema:
        raise InputError(f"{options.recipe} has no [task.fields]; set them, for example with --set")
    if options.questions:
        return _compare(runs, {seed: QuestionRound(runs, settings, seed, options.questions) for seed in options.seeds})
    rounds = {seed: ReviewRound(runs, settings, seed) for seed in options.seeds}
    scores = runs.run_all(["loop"], lambda _, seed: rounds[seed].run())
    before, after = (_estimate(rounds, name) for name in (_BEFORE, _AFTER))
    _show_scores(rounds, options, before, after)
    _show_times(rounds)
    report = {
        _BEFORE: asdict(before.interval),
        _AFTER: asdict(after.interval),
        "difference": asdict(after.minus(before).interval),
        "seeds": {seed: scores["loop"][seed] | one.report() for seed, one in rounds.items()},
    }
    runs.finish(report, {})
    return 0


def _compare(runs: Runs, rounds: Mapping[int, QuestionRound]) -> int:
    """A full review and questions, one table row for each round."""
    scores = runs.run_all(["loop"], lambda _, seed: rounds[seed].run())["loop"]
    rows: list[tuple[object, ...]] = []
    for way in next(iter(rounds.values())).ways:
        times = [one.time(way) for one in rounds.values()]
        spreads = [
            Spread.of([float(getattr(time, name)) for time in times]) for name in ("documents", "values", "person")
        ]
        rows.append((way, *map(str, spreads), str(Spread.of([one[way] for one in scores.values()]))))
    columns = ("review", "documents", "values", "person (model), seconds", "F1 on test")
    terminal.show_table("Full review and questions, mean (range) of the seeds", columns, rows)
    runs.finish({"seeds": {seed: scores[seed] | one.report() for seed, one in rounds.items()}}, {})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks review-loop", description=__doc__)
    add_recipe(parser, "fine-tuning")
    parser.add_argument("pages", type=Path, help="folder of documents with values and splits train, dev and test")
    parser.add_argument("--start", type=Path, required=True, help="checkpoint that every training starts from")
    parser.add_argument("--first", type=whole, default=20, help="documents that the first model is trained on")
    parser.add_argument("--more", type=positive, default=30, help="documents that are reviewed")
    parser.add_argument(
        "--questions", type=whole, default=0, metavar="ROUNDS", help="compare a full review with rounds of questions"
    )
    add_runs_options(parser)
    return parser


def _estimate(rounds: Mapping[int, ReviewRound], name: str) -> Estimate:
    return f1(np.array([one.counts(name) for one in rounds.values()], dtype=np.int64))


def _show_scores(
    rounds: Mapping[int, ReviewRound], options: ReviewLoopOptions, before: Estimate, after: Estimate
) -> None:
    rows: list[tuple[object, ...]] = []
    for seed, one in rounds.items():
        single = {name: _estimate({seed: one}, name) for name in (_BEFORE, _AFTER)}
        promoted = "yes" if one.report()["promote"]["promoted"] else "no"
        rows.append((seed, *_row(single[_BEFORE], single[_AFTER]), promoted))
    rows.append(("all", *_row(before, after), ""))
    title = (
        f"F1 of the endpoint on the test documents: {options.first} documents, and {options.more} reviewed ones more"
    )
    terminal.show_table(title, ("seed", _BEFORE, _AFTER, "difference", "95 % interval", "promoted"), rows)


def _row(before: Estimate, after: Estimate) -> tuple[str, ...]:
    difference = after.minus(before).interval
    shown = f"{difference.low:+.3f} to {difference.high:+.3f}"
    return f"{before.value:.3f}", f"{after.value:.3f}", f"{difference.value:+.3f}", shown


def _show_times(rounds: Mapping[int, ReviewRound]) -> None:
    rows: list[tuple[object, ...]] = []
    for way, meaning in _WAYS.items():
        times = [one.time(way) for one in rounds.values()]
        per_minute = [
            str(Spread.of([60 * time.values / seconds for time, seconds in zip(times, every, strict=True)]))
            for every in ([time.script for time in times], [time.person for time in times])
        ]
        seconds = (Spread.of([time.script for time in times]), Spread.of([time.person / 60 for time in times]))
        rows.append((meaning, str(seconds[0]), per_minute[0], str(seconds[1]), per_minute[1]))
    columns = ("values", "script, seconds", "values per minute", "person (model), minutes", "values per minute")
    terminal.show_table("Time of a review, mean (range) of the seeds", columns, rows)
