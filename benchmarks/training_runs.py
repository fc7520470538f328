"""Many trainings of one benchmark: each verb runs in a new process, and a rerun skips what is finished."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.figures import curves
from benchmarks.mlflow_log import log
from benchmarks.options import RunsOptions
from layoutray.cli.select import REVIEW
from layoutray.cli.shared import terminal
from layoutray.errors import LayoutrayError
from layoutray.report import png
from layoutray.training.reporter import HISTORY

Scores = dict[str, dict[int, dict[str, float]]]
"""Metrics on the test pages, by system and seed."""
PLAIN: dict[str, object] = {
    "train.windows": "padded",
    "train.dropout": "torch",
    "train.word_masking": 0.0,
    "train.box_jitter": 0.0,
}
"""Keys of [train] of a fine-tuning as in the papers. The recipes also pack windows, mask words and move boxes."""


class Runs:
    """The trainings of one benchmark, in a folder of encoded data sets, checkpoints, scores and logs.

    Methods raise LayoutrayError, with the name of the log file, when a verb fails.

    Args:
        benchmark: its name, also the name of the MLflow experiment.
    """

    def __init__(self, benchmark: str, options: RunsOptions) -> None:
        self.out = options.out.absolute()
        self.out.mkdir(parents=True, exist_ok=True)
        self._benchmark = benchmark
        self._options = options

    def folder(self, name: str, seed: int) -> Path:
        """Checkpoint folder of one system and seed."""
        return self.out / f"{name.lower().replace(' + ', '-').replace(' ', '-')}-{seed}"

    def encode(self, recipe: str, pages: str, name: str, keys: Mapping[str, object]) -> Path:
        """Folder of the encoded data set `name`; encodes it if it does not exist."""
        folder = self.out / name
        if not (folder / "dataset.json").is_file():
            self.verb("encode", folder.with_suffix(".log"), recipe, pages, "--out", str(folder), *_set(keys))
        return folder

    def train(
        self,
        verb: str,
        recipe: str,
        examples: Path,
        folder: Path,
        keys: Mapping[str, object],
        starts: Sequence[Path] = (),
    ) -> None:
        """Train into `folder` with `verb` (pretrain or finetune), which leaves a finished checkpoint as it is."""
        initial = [argument for start in starts for argument in ("--init", str(start))]
        settings = [*_set(keys), *(argument for pair in self._options.overrides for argument in ("--set", pair))]
        log_file = folder.with_name(f"{folder.name}.log")
        self.verb(
            verb,
            log_file,
            recipe,
            str(examples),
            "--out",
            str(folder),
            "--experiment",
            self._benchmark,
            *settings,
            *initial,
        )

    def evaluate(self, folder: Path, pages: Path, without: Path | None = None, split: str = "test") -> dict[str, float]:
        """Metrics of a checkpoint on one split of `pages`, without the documents that the file `without` lists."""
        name = folder.name if split == "test" else f"{folder.name}.{split}"
        name = name if without is None else f"{name}.without-{without.stem}"
        scores = folder.with_name(f"{name}.json")
        if not scores.is_file():
            excluded = [] if without is None else ["--without", str(without)]
            self.verb(
                "evaluate",
                folder.with_name(f"{name}.evaluate.log"),
                str(folder),
                str(pages),
                "--split",
                split,
                "--json",
                str(scores),
                *excluded,
            )
        return json.loads(scores.read_text(encoding="utf-8"))["metrics"]

    def select(self, folder: Path, pages: Path, labelled: Path, count: int) -> list[str]:
        """Ids of `count` documents of `pages` to label next, by a checkpoint that was trained on `labelled`."""
        out = folder.with_name(f"{folder.name}.select")
        if not (out / REVIEW).is_file():
            log_file = folder.with_name(f"{folder.name}.select.log")
            documents = ["--labelled", str(labelled), "--count", str(count), "--out", str(out)]
            self.verb("select", log_file, str(folder), str(pages), *documents)
        with (out / REVIEW).open(encoding="utf-8", newline="") as file:
            return [row["doc_id"] for row in csv.DictReader(file)]

    def run_all(
        self, systems: Iterable[str], run: Callable[[str, int], dict[str, float]], seeds: Sequence[int] = ()
    ) -> Scores:
        """Call `run` with each system and seed, and collect the metrics that it returns.

        Runs seed by seed, so that an interrupted benchmark has complete tables of its first seeds.

        Args:
            seeds: default: those of the option `--seeds`.
        """
        names = list(systems)
        jobs = [(name, seed) for seed in seeds or self._options.seeds for name in names]
        scores: Scores = {name: {} for name in names}
        with ThreadPoolExecutor(self._options.at_once) as pool:
            results = pool.map(lambda job: run(*job), jobs)
            for number, ((name, seed), metrics) in enumerate(zip(jobs, results, strict=True), start=1):
                scores[name][seed] = metrics
                terminal.say(f"{name}, seed {seed} done ({number} of {len(jobs)})")
        return scores

    def finish(self, report: Mapping[str, Any], trained: Scores) -> None:
        """Write `report` to a file, MLflow and stdout, with a figure of dev perplexity of the systems `trained`."""
        (self.out / "tables.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        points = {
            name: [read_history(self.folder(name, seed) / HISTORY)["dev.perplexity"] for seed in seeds]
            for name, seeds in trained.items()
        }
        pictures = (
            {"perplexity": png.png(curves.seed_curves(points, "dev.perplexity", logarithmic=True))} if points else {}
        )
        for name, picture in pictures.items():
            (self.out / f"{name}.png").write_bytes(picture)
        log(self._benchmark, asdict(self._options), report, pictures)
        sys.stdout.write(json.dumps(report) + "\n")

    def verb(self, verb: str, log_file: Path, *arguments: str) -> None:
        """Run a verb with one thread, because several trainings share the machine."""
        with log_file.open("w", encoding="utf-8") as stream:
            command = [sys.executable, "-m", f"pipelines.{verb}", *arguments]
            done = subprocess.run(
                command, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False
            )
        if done.returncode:
            raise LayoutrayError(f"{' '.join(command[2:4])} ended with status {done.returncode}; see {log_file}")


def tables(scores: Scores, systems: Mapping[str, Iterable[str]]) -> dict[str, Scores]:
    """Scores of each table by its title, without tables whose rows are all in another table.

    Args:
        systems: the names of the systems of each table; those without scores are left out.
    """
    by_title = {title: {name: scores[name] for name in names if name in scores} for title, names in systems.items()}
    shown: dict[str, Scores] = {}
    for title, rows in by_title.items():
        contained = any(rows.keys() < others.keys() for others in by_title.values())
        repeated = any(rows.keys() == others.keys() for others in shown.values())
        if not contained and not repeated:
            shown[title] = rows
    return shown


def read_history(file: Path) -> dict[str, list[tuple[int, float]]]:
    """The metrics of a training from its `history.jsonl`: (step, value) by metric."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        if row.pop("event") == "metrics":
            step = row.pop("step")
            for name, value in row.items():
                series.setdefault(name, []).append((step, float(value)))
    return series


def schedule(steps: int) -> dict[str, int]:
    """Keys of [train] that all trainings share: warm-up over a tenth of the steps, and six evaluations."""
    return {"train.steps": steps, "train.warmup_steps": steps // 10, "train.evaluate_every": max(steps // 6, 1)}


def _set(keys: Mapping[str, object]) -> list[str]:
    return [argument for key, value in keys.items() for argument in ("--set", f"{key}={value}")]
