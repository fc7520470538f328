"""LAMBERT's table on documents: field scores with and without layout and positions, and other layout embeddings."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure.spread import Spread
from benchmarks.options import LabelledRunsOptions, add_labelled_runs_options, add_only
from benchmarks.papers.lambert import LAYOUTS, PAPER_F1, SYSTEMS, LambertSystem, sizes
from benchmarks.training_runs import PLAIN, Runs, Scores, schedule, tables
from layoutray import checkpoint
from layoutray.architectures.lambert import LambertConfig
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.evaluation.leakage import Known, document_words, known
from layoutray.store.data_set import DataSet

_PRETRAIN, _AUTOENCODE = "pretrain-lambert", "pretrain-neighbourhoods"
_ROWS = {**SYSTEMS, **LAYOUTS}
_METRICS = {"GEval F1": "geval_f1", "exact F1": "exact_f1", "field F1": "field_f1"}


@dataclass(frozen=True, kw_only=True)
class LambertTablesOptions(LabelledRunsOptions):
    """Options of `lambert-tables`.

    Attributes:
        start: checkpoint of a trained BERT or RoBERTa.
        learning_rate: of the training on the pages.
        tune_learning_rate: of fine-tuning.
        only: the systems to train.
    """

    start: Path
    learning_rate: float
    tune_learning_rate: float
    only: Sequence[str]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lambert-tables", description=__doc__)
    add_labelled_runs_options(
        parser,
        "documents with fields; NAME needs a recipe finetune-NAME, e.g. sroie or kleister-nda; NAME-ocr uses it too",
    )
    parser.add_argument(
        "--start",
        required=True,
        type=Path,
        help="checkpoint of a trained BERT or RoBERTa, e.g. written by `layoutray import`",
    )
    parser.add_argument("--learning-rate", type=float, default=1e-4, help="learning rate of the training on the pages")
    parser.add_argument("--tune-learning-rate", type=float, default=1e-4, help="learning rate of fine-tuning")
    add_only(parser, _ROWS)
    options = parse(parser, arguments, LambertTablesOptions)
    table = _Table(options)
    audits = {data: table.audit(data) for data in table.labelled}
    _show_audits(audits)
    perplexity = table.pretrain()
    by_data = {data: table.tune(data, audit) for data, audit in audits.items()}
    for data, scores in by_data.items():
        for title, shown in tables(scores, {"fields": SYSTEMS, "layout embeddings": LAYOUTS}).items():
            _show(f"{data}, {title}", shown, audits[data], PAPER_F1.get(_base(data), {}))
    counts = {data: audit.counts() for data, audit in audits.items()}
    table.runs.finish({"perplexity": perplexity, "known": counts, "fields": by_data}, perplexity)
    return 0


@dataclass(frozen=True)
class _Audit:
    """Overlap of the test documents with the training data.

    Attributes:
        documents: number of test documents.
        train: test documents known from the labelled training documents.
        pages: test documents known from the pages of pretraining.
        file: lists the documents with templates of `train`.
    """

    documents: int
    train: Known
    pages: Known
    file: Path

    @property
    def new(self) -> int:
        """Number of test documents whose template is not in the labelled training documents."""
        return self.documents - len(self.train.templates)

    def counts(self) -> dict[str, object]:
        known = {"train": self.train, "pages": self.pages}
        parts = {part: {"copies": len(one.copies), "templates": len(one.templates)} for part, one in known.items()}
        return {"documents": self.documents, **parts}


class _Table:
    """Trains every system on the pages once, with the first seed, and fine-tunes it from there with each seed.

    The paper has three fine-tuning runs.
    """

    def __init__(self, options: LambertTablesOptions) -> None:
        self._options = options
        self.labelled = options.labelled_folders()
        self._rows = {name: _ROWS[name] for name in options.only}
        self._sizes = sizes(checkpoint.load(options.start).recipe)
        self.runs = Runs("lambert-tables", options)

    def audit(self, data: str) -> _Audit:
        folder = str(self.labelled[data])
        test = document_words(DataSet(folder), ["test"])
        train, pages = (
            known(test, document_words(DataSet(where), ["train"])) for where in (folder, str(self._options.pages))
        )
        file = self.runs.out / f"known-{data}.txt"
        file.write_text("\n".join(sorted(train.templates)), encoding="utf-8")
        return _Audit(len(test), train, pages, file)

    def pretrain(self) -> Scores:
        trained = {name: row for name, row in self._rows.items() if row.trained}
        self.runs.encode(_PRETRAIN, str(self._options.pages), "windows", self._encoded())
        if any(_is_autoencoder(row) for row in trained.values()):
            self.runs.encode(_AUTOENCODE, str(self._options.pages), "neighbourhoods", self._encoded())
        return self.runs.run_all(trained, self._pretrain, self._options.seeds[:1])

    def tune(self, data: str, audit: _Audit) -> Scores:
        self.runs.encode(f"finetune-{_base(data)}", str(self.labelled[data]), f"labelled-{data}", self._encoded())
        return self.runs.run_all(self._rows, lambda name, seed: self._tune(data, name, seed, audit))

    def _pretrain(self, name: str, seed: int) -> dict[str, float]:
        folder, steps = self.runs.folder(name, seed), self._options.steps
        small = {"batch_size": 8, "micro_batch_size": 4, "learning_rate": self._options.learning_rate}
        keys = self._keys(_ROWS[name], seed) | {f"train.{key}": value for key, value in small.items()}
        keys |= {**schedule(steps), "train.checkpoint_every": max(steps // 6, 1)}
        self.runs.train("pretrain", _PRETRAIN, self.runs.out / "windows", folder, keys, [self._start(name, seed)])
        return self.runs.evaluate(folder, self._options.pages)

    def _start(self, name: str, seed: int) -> Path:
        """Starting checkpoint of a system; an autoencoder has been trained for `--steps` steps in it."""
        row, start = _ROWS[name], self._options.start
        if not _is_autoencoder(row):
            return start
        folder = self.runs.folder(f"{name} alone", seed)
        keys = self._keys(row, seed) | schedule(self._options.steps)
        self.runs.train("pretrain", _AUTOENCODE, self.runs.out / "neighbourhoods", folder, keys, [start])
        return folder

    def _tune(self, data: str, name: str, seed: int, audit: _Audit) -> dict[str, float]:
        """All scores, and with the prefix `new.` those of documents whose templates are not in training documents."""
        row, folder = _ROWS[name], self.runs.folder(f"{data} {name}", seed)
        # No warm-up, as in the paper.
        keys = self._keys(row, seed) | {**PLAIN, **schedule(self._options.tune_steps)}
        keys |= {"train.warmup_steps": 0, "train.patience": 5}
        keys["train.learning_rate"] = self._options.tune_learning_rate
        start = self.runs.folder(name, self._options.seeds[0]) if row.trained else self._options.start
        self.runs.train(
            "finetune", f"finetune-{_base(data)}", self.runs.out / f"labelled-{data}", folder, keys, [start]
        )
        scores = self.runs.evaluate(folder, self.labelled[data])
        new = self.runs.evaluate(folder, self.labelled[data], audit.file) if audit.new else {}
        return scores | {f"new.{metric}": value for metric, value in new.items()}

    def _encoded(self) -> dict[str, object]:
        return {"max_length": self._options.length, "tokenizer.path": self._options.start.absolute()}

    def _keys(self, row: LambertSystem, seed: int) -> dict[str, object]:
        model = {
            f"model.{key}": value for key, value in {**asdict(LambertConfig()), **self._sizes, **row.model}.items()
        }
        return {"max_length": self._options.length, "seed": seed, **model}


def _is_autoencoder(row: LambertSystem) -> bool:
    return row.model.get("layout") == "autoencoder"


def _base(data: str) -> str:
    """The name of the data set without `-ocr`, whose recipe and paper scores are used."""
    return data.removesuffix("-ocr")


def _show_audits(audits: Mapping[str, _Audit]) -> None:
    title = "Test documents with a copy / a template (includes copies) in the training data"
    rows = [
        (
            data,
            audit.documents,
            *(f"{len(known.copies)} / {len(known.templates)}" for known in (audit.train, audit.pages)),
        )
        for data, audit in audits.items()
    ]
    terminal.show_table(title, ("set", "documents", "labelled documents", "pages"), rows)


def _show(
    title: str, scores: Mapping[str, Mapping[int, Mapping[str, float]]], audit: _Audit, paper: Mapping[str, float]
) -> None:
    columns: dict[str, str] = {**_METRICS, f"field F1, {audit.new} of new templates": "new.field_f1"}
    rows: list[Sequence[Any]] = []
    for name, by_seed in scores.items():
        cells = [
            _percent([metrics[metric] for metrics in by_seed.values() if metric in metrics])
            for metric in columns.values()
        ]
        rows.append((name, *cells, f"{paper[name]:.1f}" if name in paper else ""))
    seeds = len(next(iter(scores.values())))
    heading = f"{title}: F1 on {audit.documents} test documents in percent, mean (range) of {seeds} seeds"
    terminal.show_table(heading, ("system", *columns, "paper's F1"), rows)


def _percent(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = Spread.of([100 * value for value in values])
    return f"{spread.mean:.1f} ({spread.least:.1f} to {spread.most:.1f})"
