"""Tables 2 to 4 of the Skim-Attention paper on real pages: perplexities after the same steps, ablations, layout labels."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from layoutray import recipe
from layoutray.bench.skim_tables import (
    LONG,
    PAPER_PERPLEXITY,
    PRETRAINED,
    RATIOS,
    TUNED,
    Model,
    Spread,
    attention_count,
    compute_ratio,
)
from layoutray.errors import LayoutrayError
from layoutray.report import curves, png
from layoutray.report.curves import Points
from layoutray.training.reporter import HISTORY, read_history
from pipelines import _terminal as terminal
from pipelines._report import log

Row = TypeVar("Row")
Scores = dict[str, dict[int, dict[str, float]]]
"""Metrics on the test pages by system and seed."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark skim-tables", description=__doc__)
    parser.add_argument("pages", type=Path, help="folder of pages to pretrain on, such as `layoutray mix` makes")
    parser.add_argument("--docbank", type=Path, help="folder of DocBank's pages, for table 4; without it tables 2 and 3 alone are made")
    parser.add_argument("--out", required=True, type=terminal.local_folder, help="folder for everything; a rerun does what is missing")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one training of every system with each")
    parser.add_argument("--steps", type=int, default=600, help="of pretraining, the same for all")
    parser.add_argument("--tune-steps", type=int, default=300, help="of fine-tuning, the same for all")
    parser.add_argument("--length", type=int, default=256, help="tokens per window")
    parser.add_argument("--long-length", type=int, default=1024, help="tokens per window of the two long models")
    parser.add_argument("--top-k", type=int, default=64, help="keys that a SkimmingMask leaves to each query")
    parser.add_argument("--at-once", type=int, default=2, help="trainings at the same time, each with one thread")
    options = parser.parse_args(arguments)
    tables = _Tables(options)
    perplexity = tables.pretrain()
    _show_perplexity(perplexity, options)
    report: dict[str, Any] = {"perplexity": perplexity}
    if options.docbank:
        report["layout_labels"] = tables.tune()
        _show_labels(report["layout_labels"], options)
    (tables.out / "tables.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    picture = png.png(curves.seed_curves(tables.curves(), "dev.perplexity", logarithmic=True))
    (tables.out / "perplexity.png").write_bytes(picture)
    log("skim-tables", {name: str(value) for name, value in vars(options).items()}, report, {"perplexity": picture})
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


class _Tables:
    """The verbs of this project, called for every row and seed; each leaves its checkpoint, its scores and its log in `out`."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.out: Path = options.out.absolute()
        self.out.mkdir(parents=True, exist_ok=True)

    def pretrain(self) -> Scores:
        pages = str(self._options.pages)
        self._encode("pretrain-tiny", pages, "windows", long=False)
        self._encode("pretrain-tiny", pages, "long-windows", long=True, tokenizer=self.out / "windows")
        return self._all(PRETRAINED, self._pretrain)

    def tune(self) -> Scores:
        pages = str(self._options.docbank)
        for name, long in (("labelled", False), ("long-labelled", True)):
            self._encode("finetune-docbank", pages, name, long=long, tokenizer=self.out / "windows")
        return self._all(TUNED, self._tune)

    def curves(self) -> dict[str, list[Points]]:
        """Perplexity on dev over steps, by system, of each seed."""
        return {
            name: [read_history(self.folder(name, seed) / HISTORY)["dev.perplexity"] for seed in self._options.seeds] for name in PRETRAINED
        }

    def _pretrain(self, name: str, seed: int) -> dict[str, float]:
        options, folder = self._options, self.folder(name, seed)
        examples = self.out / ("long-windows" if name in LONG else "windows")
        train = {"steps": options.steps, "warmup_steps": options.steps // 10, "evaluate_every": max(options.steps // 6, 1)}
        self._train("pretrain", "pretrain-tiny", examples, folder, self._overrides(name, PRETRAINED[name], train, seed))
        return self._evaluated(folder, options.pages)

    def _tune(self, name: str, seed: int) -> dict[str, float]:
        options, row, folder = self._options, TUNED[name], self.folder(f"labels {name}", seed)
        examples = self.out / ("long-labelled" if name in LONG else "labelled")
        model = {**row.model, **({"top_k": options.top_k} if "masked" in row.attentions else {})}
        train = {"steps": options.tune_steps, "warmup_steps": options.tune_steps // 10, "evaluate_every": max(options.tune_steps // 6, 1)}
        starts = [argument for start in row.starts for argument in ("--init", str(self.folder(start, seed)))]
        self._train("finetune", "finetune-docbank", examples, folder, [*self._overrides(name, model, train, seed), *starts])
        return self._evaluated(folder, options.docbank)

    def folder(self, name: str, seed: int) -> Path:
        return self.out / f"{name.lower().replace(' + ', '-').replace(' ', '-')}-{seed}"

    def _overrides(self, name: str, model: Model, train: Mapping[str, int], seed: int) -> list[str]:
        """As in the paper, the long models get half as many windows a step."""
        sizes = {"max_length": self._length(name in LONG), "seed": seed, **({"train.batch_size": 4} if name in LONG else {})}
        keys = sizes | {f"model.{key}": value for key, value in model.items()} | {f"train.{key}": value for key, value in train.items()}
        return [argument for key, value in keys.items() for argument in ("--set", f"{key}={value}")]

    def _length(self, long: bool) -> int:
        return self._options.long_length if long else self._options.length

    def _encode(self, recipe_name: str, pages: str, name: str, *, long: bool, tokenizer: Path | None = None) -> None:
        folder = self.out / name
        if not (folder / "dataset.json").is_file():
            vocabulary = ["--set", f"tokenizer.path={tokenizer}"] if tokenizer else []
            length = ["--set", f"max_length={self._length(long)}"]
            self._verb("encode", folder.with_suffix(".log"), recipe_name, pages, "--out", str(folder), *length, *vocabulary)

    def _train(self, verb: str, recipe_name: str, examples: Path, folder: Path, arguments: Sequence[str]) -> None:
        log = folder.with_name(f"{folder.name}.log")
        self._verb(verb, log, recipe_name, str(examples), "--out", str(folder), "--experiment", "skim-tables", *arguments)

    def _evaluated(self, folder: Path, pages: Path) -> dict[str, float]:
        scores = folder.with_name(f"{folder.name}.json")
        if not scores.is_file():
            log = folder.with_name(f"{folder.name}.evaluate.log")
            self._verb("evaluate", log, str(folder), str(pages), "--json", str(scores))
        return json.loads(scores.read_text(encoding="utf-8"))["metrics"]

    def _verb(self, verb: str, log: Path, *arguments: str) -> None:
        """Each in a process of its own with one thread: that is how two of them share a small machine best."""
        with log.open("w", encoding="utf-8") as stream:
            command = [sys.executable, "-m", f"pipelines.{verb}", *arguments]
            done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
        if done.returncode:
            raise LayoutrayError(f"{' '.join(command[2:4])} ended with status {done.returncode}; see {log}")

    def _all(self, rows: Mapping[str, Row], run: Callable[[str, int], dict[str, float]]) -> Scores:
        """Seed by seed, so that an interrupted benchmark has whole tables of the first ones."""
        jobs = [(name, seed) for seed in self._options.seeds for name in rows]
        scores: Scores = {name: {} for name in rows}
        with ThreadPoolExecutor(self._options.at_once) as pool:
            for number, ((name, seed), found) in enumerate(zip(jobs, pool.map(partial(_starred, run), jobs), strict=True), start=1):
                scores[name][seed] = found
                terminal.say(f"{name}, seed {seed} done ({number} of {len(jobs)})")
        return scores


def _starred(run: Callable[[str, int], dict[str, float]], job: tuple[str, int]) -> dict[str, float]:
    return run(*job)


def _show_perplexity(scores: Scores, options: argparse.Namespace) -> None:
    found = {name: Spread.of([of["perplexity"] for of in by_seed.values()]) for name, by_seed in scores.items()}
    title = f"Perplexity on the test pages after {options.steps} steps, mean (range) of {len(options.seeds)} seeds"
    rows = [(name, str(spread), f"{PAPER_PERPLEXITY[name]:.2f}") for name, spread in found.items()]
    terminal.show_table(title, ("system", "ours", "paper"), rows)
    ratios = [
        (f"{one} / {other}", found[one].mean / found[other].mean, PAPER_PERPLEXITY[one] / PAPER_PERPLEXITY[other]) for one, other in RATIOS
    ]
    terminal.show_table("Ratios of perplexity", ("systems", "ours", "paper"), ratios)


def _show_labels(scores: Scores, options: argparse.Namespace) -> None:
    rows: list[tuple[object, ...]] = []
    for name, row in TUNED.items():
        model = recipe.load("finetune-docbank", [f"model.{key}={value}" for key, value in row.model.items()]).model
        layers, contextualiser = model["layers"], model.get("contextualiser_layers", 1)
        ratio = compute_ratio(row, layers, contextualiser, length=options.length, top_k=options.top_k)
        paper = " / ".join(f"{score:.2f}" for score in row.paper)
        found = (_macro(scores[name], "area"), _macro(scores[name], "token"))
        rows.append((name, *found, attention_count(row, layers, contextualiser), f"{100 * ratio:.1f} %", paper))
    title = f"DocBank layout labels: recall / precision / F1 in percent, macro, mean of {len(options.seeds)} seeds (range of F1)"
    terminal.show_table(title, ("system", "by area", "by token", "attentions", "compute", "paper"), rows)


def _macro(scores: Mapping[int, Mapping[str, float]], kind: str) -> str:
    recall, precision, f1 = (Spread.of([100 * of[f"{kind}_{name}"] for of in scores.values()]) for name in ("recall", "precision", "f1"))
    return f"{recall.mean:.1f} / {precision.mean:.1f} / {f1.mean:.1f} ({f1.least:.1f} to {f1.most:.1f})"


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
