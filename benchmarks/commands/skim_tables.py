"""Tables 2 to 4 of the Skim-Attention paper: perplexities after the same number of steps, ablations, layout labels."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure.spread import Spread
from benchmarks.options import PretrainedRunsOptions, add_only, add_pretrained_runs_options
from benchmarks.papers.skim import (
    LONG,
    PAPER_PERPLEXITY,
    PRETRAINED,
    RATIOS,
    TUNED,
    Model,
    attention_count,
    compute_ratio,
)
from benchmarks.training_runs import Runs, Scores, schedule
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.recipe import recipes


@dataclass(frozen=True, kw_only=True)
class SkimTablesOptions(PretrainedRunsOptions):
    """Options of `skim-tables`.

    Attributes:
        only: rows of tables 2 and 3 to train.
        docbank: folder of DocBank's pages, for table 4.
        long_length: tokens per window of the long models.
        top_k: keys that a SkimmingMask leaves for each query.
    """

    only: Sequence[str]
    docbank: Path | None
    long_length: int
    top_k: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks skim-tables", description=__doc__)
    add_pretrained_runs_options(parser, length=256)
    add_only(parser, PRETRAINED)
    parser.add_argument(
        "--docbank", type=Path, help="folder of DocBank's pages, for table 4 (default: only tables 2 and 3)"
    )
    parser.add_argument("--long-length", type=int, default=1024, help="tokens per window of the two long models")
    parser.add_argument("--top-k", type=int, default=64, help="keys that a SkimmingMask leaves for each query")
    options = parse(parser, arguments, SkimTablesOptions)
    tables = _Tables(options)
    perplexity = tables.pretrain()
    _show_perplexity(perplexity, options)
    report: dict[str, Any] = {"perplexity": perplexity}
    if options.docbank:
        report["layout_labels"] = tables.tune(options.docbank)
        _show_labels(report["layout_labels"], options)
    tables.runs.finish(report, perplexity)
    return 0


class _Tables:
    """Tables 2 and 3 by `pretrain`, table 4 by `tune`."""

    def __init__(self, options: SkimTablesOptions) -> None:
        self._options = options
        self.runs = Runs("skim-tables", options)

    def pretrain(self) -> Scores:
        pages = str(self._options.pages)
        windows = self.runs.encode("pretrain-tiny", pages, "windows", {"max_length": self._length(long=False)})
        if LONG & {*self._options.only}:
            long_keys = {"max_length": self._length(long=True), "tokenizer.path": windows}
            self.runs.encode("pretrain-tiny", pages, "long-windows", long_keys)
        return self.runs.run_all(self._options.only, self._pretrain)

    def tune(self, docbank: Path) -> Scores:
        for name, long in (("labelled", False), ("long-labelled", True)):
            keys = {"max_length": self._length(long=long), "tokenizer.path": self.runs.out / "windows"}
            self.runs.encode("finetune-docbank", str(docbank), name, keys)
        systems = [name for name, row in TUNED.items() if {*row.starts} <= {*self._options.only}]
        return self.runs.run_all(systems, lambda name, seed: self._tune(docbank, name, seed))

    def _pretrain(self, name: str, seed: int) -> dict[str, float]:
        folder = self.runs.folder(name, seed)
        examples = self.runs.out / ("long-windows" if name in LONG else "windows")
        self.runs.train(
            "pretrain", "pretrain-tiny", examples, folder, self._keys(name, PRETRAINED[name], self._options.steps, seed)
        )
        return self.runs.evaluate(folder, self._options.pages)

    def _tune(self, docbank: Path, name: str, seed: int) -> dict[str, float]:
        row, folder = TUNED[name], self.runs.folder(f"labels {name}", seed)
        examples = self.runs.out / ("long-labelled" if name in LONG else "labelled")
        model = {**row.model, **({"top_k": self._options.top_k} if "masked" in row.attentions else {})}
        starts = [self.runs.folder(start, seed) for start in row.starts]
        self.runs.train(
            "finetune",
            "finetune-docbank",
            examples,
            folder,
            self._keys(name, model, self._options.tune_steps, seed),
            starts,
        )
        return self.runs.evaluate(folder, docbank)

    def _keys(self, name: str, model: Model, steps: int, seed: int) -> dict[str, object]:
        """Recipe keys of a training; as in the paper, the long models get half as many windows per step."""
        sizes: dict[str, object] = {"max_length": self._length(long=name in LONG), "seed": seed}
        if name in LONG:
            sizes["train.batch_size"] = 4
        return sizes | {f"model.{key}": value for key, value in model.items()} | schedule(steps)

    def _length(self, *, long: bool) -> int:
        return self._options.long_length if long else self._options.length


def _show_perplexity(scores: Scores, options: SkimTablesOptions) -> None:
    spreads = {
        name: Spread.of([metrics["perplexity"] for metrics in by_seed.values()]) for name, by_seed in scores.items()
    }
    title = f"Perplexity on the test pages after {options.steps} steps, mean (range) of {len(options.seeds)} seeds"
    rows = [(name, str(spread), f"{PAPER_PERPLEXITY[name]:.2f}") for name, spread in spreads.items()]
    terminal.show_table(title, ("system", "ours", "paper"), rows)
    ratios = [
        (f"{one} / {other}", spreads[one].mean / spreads[other].mean, PAPER_PERPLEXITY[one] / PAPER_PERPLEXITY[other])
        for one, other in RATIOS
        if {one, other} <= spreads.keys()
    ]
    terminal.show_table("Ratios of perplexity", ("systems", "ours", "paper"), ratios)


def _show_labels(scores: Scores, options: SkimTablesOptions) -> None:
    rows: list[tuple[object, ...]] = []
    for name in scores:
        row = TUNED[name]
        model = recipes.load("finetune-docbank", [f"model.{key}={value}" for key, value in row.model.items()]).model
        layers, contextualiser = model["layers"], model.get("contextualiser_layers", 1)
        ratio = compute_ratio(row, layers, contextualiser, length=options.length, top_k=options.top_k)
        paper = " / ".join(f"{score:.2f}" for score in row.paper)
        macro = (_macro(scores[name], "area"), _macro(scores[name], "token"))
        rows.append((name, *macro, attention_count(row, layers, contextualiser), f"{100 * ratio:.1f} %", paper))
    title = (
        "DocBank layout labels: macro recall / precision / F1 in percent, "
        f"mean of {len(options.seeds)} seeds (range of F1)"
    )
    terminal.show_table(title, ("system", "by area", "by token", "attentions", "compute", "paper"), rows)


def _macro(scores: Mapping[int, Mapping[str, float]], kind: str) -> str:
    recall, precision, f1 = (
        Spread.of([100 * metrics[f"{kind}_{name}"] for metrics in scores.values()])
        for name in ("recall", "precision", "f1")
    )
    return f"{recall.mean:.1f} / {precision.mean:.1f} / {f1.mean:.1f} ({f1.least:.1f} to {f1.most:.1f})"
