"""FormNet's ablation on forms: entity scores of ETC with and without Rich Attention and super-tokens, and of peers."""

import argparse
from collections.abc import Sequence

from benchmarks.measure.spread import Spread
from benchmarks.options import LabelledRunsOptions, add_labelled_runs_options
from benchmarks.papers.formnet import PAPER_F1, SYSTEMS
from benchmarks.training_runs import PLAIN, Runs, Scores, schedule
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse

_RECIPE = "finetune-funsd"
_TUNING: dict[str, object] = {
    **PLAIN,
    "train.learning_rate": 1e-3,
    "model.size": "tiny",
    "model.attention_dropout": 0.1,
}
"""Keys that the ablation has and the recipe has not."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks formnet-tables", description=__doc__)
    add_labelled_runs_options(
        parser,
        "pages with entities for fine-tuning and testing; for the names funsd and cord, the paper's scores are shown",
    )
    options = parse(parser, arguments, LabelledRunsOptions)
    table = _Table(options)
    perplexity = table.pretrain()
    scores = {data: table.tune(data) for data in table.labelled}
    for data, by_system in scores.items():
        _show(data, by_system, len(options.seeds))
    table.runs.finish({"perplexity": perplexity, "entities": scores}, perplexity)
    return 0


class _Table:
    """Pretrains every system once for each seed, and fine-tunes it from there on each labelled set."""

    def __init__(self, options: LabelledRunsOptions) -> None:
        self._options = options
        self.labelled = options.labelled_folders()
        self.runs = Runs("formnet-tables", options)

    def pretrain(self) -> Scores:
        self.runs.encode("pretrain-tiny", str(self._options.pages), "windows", {"max_length": self._options.length})
        return self.runs.run_all(SYSTEMS, self._pretrain)

    def tune(self, data: str) -> Scores:
        keys = {"max_length": self._options.length, "tokenizer.path": self.runs.out / "windows"}
        self.runs.encode(_RECIPE, str(self.labelled[data]), f"labelled-{data}", keys)
        return self.runs.run_all(SYSTEMS, lambda name, seed: self._tune(data, name, seed))

    def _pretrain(self, name: str, seed: int) -> dict[str, float]:
        folder = self.runs.folder(name, seed)
        self.runs.train(
            "pretrain", "pretrain-tiny", self.runs.out / "windows", folder, self._keys(name, self._options.steps, seed)
        )
        return self.runs.evaluate(folder, self._options.pages)

    def _tune(self, data: str, name: str, seed: int) -> dict[str, float]:
        folder, examples = self.runs.folder(f"{data} {name}", seed), self.runs.out / f"labelled-{data}"
        keys = {**_TUNING, **self._keys(name, self._options.tune_steps, seed)}
        self.runs.train("finetune", _RECIPE, examples, folder, keys, [self.runs.folder(name, seed)])
        return self.runs.evaluate(folder, self.labelled[data])

    def _keys(self, name: str, steps: int, seed: int) -> dict[str, object]:
        model = {f"model.{key}": value for key, value in SYSTEMS[name].items()}
        return {"max_length": self._options.length, "seed": seed, **model, **schedule(steps)}


def _show(data: str, scores: Scores, seeds: int) -> None:
    rows: list[tuple[object, ...]] = []
    for name, by_seed in scores.items():
        precision, recall, f1 = (
            Spread.of([100 * metrics.get(key, 0.0) for metrics in by_seed.values()])
            for key in ("precision", "recall", "f1")
        )
        paper = PAPER_F1.get(data, {}).get(name)
        shown_f1 = f"{f1.mean:.1f} ({f1.least:.1f} to {f1.most:.1f})"
        rows.append(
            (name, f"{precision.mean:.1f}", f"{recall.mean:.1f}", shown_f1, "" if paper is None else f"{paper:.2f}")
        )
    title = f"Entities of {data}, test split, percent: mean of {seeds} seeds (range of F1)"
    terminal.show_table(title, ("system", "precision", "recall", "F1", "paper's F1"), rows)
