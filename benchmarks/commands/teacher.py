"""F1 of a model that learns from wrong values, as a large model states them, and pages to break even with an API.

A share of the values of some training documents is made wrong: a third each missing, swapped with another field's or
another document's value, and invented. For each share and seed, a model is trained from the start on the same documents
as `layoutray train` does, and measured on the test split against the unchanged values.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.measure.break_even import OwnModel
from benchmarks.measure.document_subset import write_data_set_of
from benchmarks.measure.spread import Spread
from benchmarks.measure.wrong_values import made_wrong
from benchmarks.options import RunsOptions, add_runs_options
from benchmarks.training_runs import Runs, Scores
from layoutray import start
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive, positive_number, share
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError
from layoutray.recipe.schedule import STEPS_OF_A_START, schedule
from layoutray.store import codec, shards, sources
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet

_METRIC = "field_f1"
_API = {"Gemini 3.8 Flash": 0.0043, "LlamaExtract, cost-effective": 0.0106, "GPT-6 Astra": 0.11}
"""Dollars a page, ExtractBench (arXiv:2607.29677), leaderboard of November 2026."""


@dataclass(frozen=True, kw_only=True)
class TeacherOptions(RunsOptions):
    """Options of `teacher`.

    Attributes:
        pages: data set with values, and with splits train and test.
        recipe: of fine-tuning, which names the fields.
        start: what every training starts from.
        documents: number of training documents.
        shares: shares of the values that are wrong; the first is the base.
        core_hour, page_seconds, training_seconds: see `OwnModel`.
    """

    pages: Path
    recipe: str
    start: str
    documents: int
    shares: Sequence[float]
    core_hour: float
    page_seconds: float
    training_seconds: float


def main(arguments: Sequence[str]) -> int:
    options = parse(_parser(), arguments, TeacherOptions)
    student = _Student(options)
    scores = student.runs.run_all([str(one) for one in options.shares], student.train)
    _show_scores(scores)
    own = OwnModel(
        core_hour=options.core_hour,
        page_seconds=options.page_seconds,
        training_seconds=options.training_seconds,
        labelled_pages=options.documents,
    )
    pages = {name: own.break_even(dollars) for name, dollars in _API.items()}
    rows = [
        (name, f"{100 * dollars:.2f}", "never" if math.isinf(pages[name]) else f"{math.ceil(pages[name]):,}")
        for name, dollars in _API.items()
    ]
    title = f"Pages to break even; an own page costs {100 * own.page:.4f} cents"
    terminal.show_table(title, ("API", "cents a page", "pages"), rows)
    student.runs.finish({"test": scores, "break even": pages}, {})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks teacher", description=__doc__)
    parser.add_argument("pages", type=Path, help="folder of pages and values, with splits train and test")
    parser.add_argument("--recipe", default="finetune-sroie", help="names the fields (default: %(default)s)")
    parser.add_argument("--start", default=start.NAME, help="checkpoint to start from (default: %(default)s)")
    parser.add_argument("--documents", type=positive, default=50, help="training documents (default: %(default)s)")
    parser.add_argument("--shares", type=share, nargs="+", default=[0.0, 0.05, 0.1, 0.2], help="of wrong values")
    parser.add_argument("--core-hour", type=positive_number, default=0.05, help="dollars (default: %(default)s)")
    parser.add_argument("--page-seconds", type=positive_number, default=3.0, help="CPU seconds a page")
    parser.add_argument("--training-seconds", type=positive_number, default=960.0, help="CPU seconds of `train`")
    add_runs_options(parser)
    parser.set_defaults(steps=0)
    return parser


class _Student:
    """Trainings on one data set with wrong values."""

    def __init__(self, options: TeacherOptions) -> None:
        self._options = options
        self.runs = Runs("teacher", options)
        documents = DataSet(str(options.pages)).read_documents()
        self._ids = sorted(one.doc_id for one in documents if one.split == "train" and one.fields)
        if options.documents > len(self._ids):
            raise InputError(f"--documents is {options.documents}; {options.pages} has {len(self._ids)} in train")

    def train(self, wrong: str, seed: int) -> dict[str, float]:
        """The metrics on test of a model that learns from values of which the share `wrong` is wrong."""
        options, folder = self._options, self.runs.folder(f"wrong {wrong}", seed)
        taught = folder.with_name(f"{folder.name}.pages")
        if not (taught / "manifest.json").is_file():
            self._write(float(wrong), seed, taught)
        keys: dict[str, object] = {"tokenizer.path": options.start}
        examples = self.runs.encode(options.recipe, str(taught), f"{folder.name}.examples", keys)
        card = Card.read(str(examples))
        planned = schedule(options.documents, card.examples["train"], STEPS_OF_A_START)
        keys |= dict(one.split("=") for one in planned.assignments()) | {"train.evaluate_every": 0, "seed": seed}
        keys |= {"train.steps": options.steps, "train.warmup_steps": options.steps // 10} if options.steps else {}
        self.runs.train("finetune", options.recipe, examples, folder, keys, [Path(options.start)])
        return self.runs.evaluate(folder, options.pages) | {"not_found": float(card.missing)}

    def _write(self, wrong: float, seed: int, out: Path) -> None:
        """Write the documents of a seed, the same for every share, with wrong values."""
        random = Random(seed)
        write_data_set_of(random.sample(self._ids, self._options.documents), self._options.pages, out)
        data_set = DataSet(str(out))
        clean = [*data_set.read_documents()]
        made = [replace(one, from_model=f"{wrong} wrong") for one in made_wrong(clean, wrong, random)]
        (shard,) = shards.shards(data_set.documents)
        shards.write(codec.documents_table(made), data_set.documents, sources.name(shard))


def _show_scores(scores: Scores) -> None:
    base = [one[_METRIC] for one in next(iter(scores.values())).values()]
    rows = [
        (
            f"{float(wrong):.0%}",
            str(Spread.of([one[_METRIC] for one in by_seed.values()])),
            f"{Spread.of([one[_METRIC] for one in by_seed.values()]).mean - Spread.of(base).mean:+.3f}",
            str(Spread.of([one["not_found"] for one in by_seed.values()])),
        )
        for wrong, by_seed in scores.items()
    ]
    columns = ("wrong values", f"{_METRIC} on test, mean (range)", "change", "not found")
    terminal.show_table(f"A model that learns from wrong values, {len(base)} seeds", columns, rows)
