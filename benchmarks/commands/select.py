"""Labels needed for a score: documents that `layoutray select` chooses, and documents chosen at random.

Simulates labelling on documents that are labelled already. All rounds train from the same start with the same recipe
and steps, without dev pages; scores that count are those on dev. The first documents are random in both arms. The test
pages are read once, at the end, with the most labels.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.measure.document_subset import training_documents, write_examples_of, write_pages_of
from benchmarks.measure.labels_needed import labels_needed
from benchmarks.measure.spread import Spread
from benchmarks.options import RunsOptions, add_recipe, add_runs_options
from benchmarks.training_runs import Runs, Scores, schedule
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError

_SELECT, _RANDOM = "select", "random"
_ARMS = (_SELECT, _RANDOM)


@dataclass(frozen=True, kw_only=True)
class SelectOptions(RunsOptions):
    """Options of `select`.

    Attributes:
        recipe: of fine-tuning.
        pages: folder of labelled pages with splits train, dev and test.
        start: checkpoint that every training starts from.
        first: number of random documents of the first round.
        more: number of documents that each further round adds.
        rounds: number of further rounds.
        metric: of `layoutray evaluate`.
        goal: value of the metric.
    """

    recipe: str
    pages: Path
    start: Path
    first: int
    more: int
    rounds: int
    metric: str
    goal: float


def main(arguments: Sequence[str]) -> int:
    options = parse(_parser(), arguments, SelectOptions)
    simulation = _Simulation(options)
    runs = simulation.runs
    runs.run_all(["first"], lambda _, seed: simulation.first_round(seed))
    scores = runs.run_all(_ARMS, simulation.rounds)
    curves = {arm: {seed: _by_count(metrics) for seed, metrics in by_seed.items()} for arm, by_seed in scores.items()}
    needed = {
        arm: {seed: labels_needed(curve, options.goal) for seed, curve in by_seed.items()}
        for arm, by_seed in curves.items()
    }
    test = runs.run_all(_ARMS, simulation.test)
    _show_curves(curves, options)
    _show_needed(needed, options)
    _show_test(test, options)
    runs.finish({"dev": curves, "labels needed": needed, "goal": options.goal, "test": test}, {})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks select", description=__doc__)
    add_recipe(parser, "fine-tuning")
    parser.add_argument("pages", type=Path, help="folder of labelled pages with splits train, dev and test")
    parser.add_argument("--start", type=Path, required=True, help="checkpoint that every training starts from")
    parser.add_argument("--first", type=positive, default=10, help="random documents of the first round")
    parser.add_argument("--more", type=positive, default=10, help="documents that each further round adds")
    parser.add_argument("--rounds", type=positive, default=9, help="number of further rounds")
    parser.add_argument("--metric", default="f1", help="metric of `layoutray evaluate`, e.g. field_f1")
    parser.add_argument("--goal", type=float, default=0.85, help="value of the metric that is to be reached on dev")
    add_runs_options(parser)
    return parser


class _Simulation:
    """Trainings on more and more documents of one data set."""

    def __init__(self, options: SelectOptions) -> None:
        self._options = options
        self.runs = Runs("select", options)
        self._examples = self.runs.encode(
            options.recipe, str(options.pages), "examples", {"tokenizer.path": options.start.absolute()}
        )
        self._documents = training_documents(self._examples)
        largest = options.first + options.rounds * options.more
        if largest > len(self._documents):
            raise InputError(
                f"--first, --more and --rounds need {largest} documents; "
                f"{options.pages} has {len(self._documents)} in train"
            )
        self._pool = self.runs.out / "pool"
        if not self._pool.is_dir():
            write_pages_of(self._documents, options.pages, self._pool)

    def first_round(self, seed: int) -> dict[str, float]:
        """Train on the first documents of a seed, which both arms share."""
        return self._train("first", self._options.first, seed, self._order(seed)[: self._options.first])

    def rounds(self, arm: str, seed: int) -> dict[str, float]:
        """The metric on dev by number of documents (as text), with all rounds of an arm."""
        order, first = self._order(seed), self._options.first
        documents = order[:first]
        scores = self._train("first", first, seed, documents)
        for count in range(first + self._options.more, self._most + 1, self._options.more):
            last = self._folder("first" if len(documents) == first else arm, len(documents), seed)
            documents = order[:count] if arm == _RANDOM else documents + self._selected(last)
            scores |= self._train(arm, count, seed, documents)
        return scores

    def test(self, arm: str, seed: int) -> dict[str, float]:
        """The metrics on test with the most documents."""
        return self.runs.evaluate(self._folder(arm, self._most, seed), self._options.pages)

    @property
    def _most(self) -> int:
        return self._options.first + self._options.rounds * self._options.more

    def _order(self, seed: int) -> list[str]:
        return Random(seed).sample(self._documents, len(self._documents))

    def _selected(self, folder: Path) -> list[str]:
        labelled = folder.with_name(f"{folder.name}.labelled")
        return self.runs.select(folder, self._pool, labelled, self._options.more)

    def _train(self, arm: str, count: int, seed: int, documents: Sequence[str]) -> dict[str, float]:
        folder = self._folder(arm, count, seed)
        examples = folder.with_name(f"{folder.name}.examples")
        if not (examples / "dataset.json").is_file():
            write_pages_of(documents, self._options.pages, folder.with_name(f"{folder.name}.labelled"))
            write_examples_of(documents, self._examples, examples)
        keys = {**schedule(self._options.steps), "seed": seed, "tokenizer.path": self._options.start.absolute()}
        self.runs.train("finetune", self._options.recipe, examples, folder, keys, [self._options.start])
        metrics = self.runs.evaluate(folder, self._options.pages, split="dev")
        if self._options.metric not in metrics:
            raise InputError(f"--metric is {self._options.metric}; `evaluate` gives {', '.join(sorted(metrics))}")
        return {str(count): metrics[self._options.metric]}

    def _folder(self, arm: str, count: int, seed: int) -> Path:
        return self.runs.folder(f"{arm} {count}", seed)


def _by_count(metrics: Mapping[str, float]) -> dict[int, float]:
    return {int(count): value for count, value in metrics.items()}


def _show_curves(curves: Mapping[str, Mapping[int, Mapping[int, float]]], options: SelectOptions) -> None:
    counts = list(next(iter(curves[_RANDOM].values())))
    rows = [
        (count, *(str(Spread.of([curve[count] for curve in curves[arm].values()])) for arm in _ARMS))
        for count in counts
    ]
    title = f"{options.metric} on dev by labelled documents, mean (range) of {len(options.seeds)} seeds"
    terminal.show_table(title, ("documents", *_ARMS), rows)


def _show_needed(needed: Mapping[str, Mapping[int, float | None]], options: SelectOptions) -> None:
    rows = [
        (seed, *("not reached" if (count := needed[arm][seed]) is None else f"{count:.0f}" for arm in _ARMS))
        for seed in options.seeds
    ]
    terminal.show_table(f"Labelled documents for {options.metric} {options.goal} on dev", ("seed", *_ARMS), rows)


def _show_test(test: Scores, options: SelectOptions) -> None:
    rows = [
        (arm, str(Spread.of([metrics[options.metric] for metrics in by_seed.values()])))
        for arm, by_seed in test.items()
    ]
    most = options.first + options.rounds * options.more
    terminal.show_table(f"{options.metric} on test with {most} documents", ("", options.metric), rows)
