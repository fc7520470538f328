"""Many trainings of one benchmark: each verb in a process of its own, what is done already is not done again."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from layoutray.cli import terminal
from layoutray.cli.options import local_folder
from layoutray.errors import InputError, LayoutrayError
from layoutray.report import curves, png
from layoutray.training.reporter import HISTORY, read_history
from pipelines._report import log

Row = TypeVar("Row")
Scores = dict[str, dict[int, dict[str, float]]]
"""Metrics on the test pages by system and seed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What every benchmark of many trainings lets choose."""
    parser.add_argument(
        "--out", required=True, type=local_folder, help="folder for everything; a rerun does what is missing"
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1, 2, 3], help="one training of every system with each"
    )
    parser.add_argument(
        "--steps", type=int, default=600, help="of training, or of pretraining before it, the same for all"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a recipe key of all trainings, by its dotted path; repeatable",
    )
    parser.add_argument("--at-once", type=int, default=2, help="trainings at the same time, each with one thread")


def add_tuning_option(parser: argparse.ArgumentParser) -> None:
    """For those that fine-tune what they have pretrained."""
    parser.add_argument("--tune-steps", type=int, default=300, help="of fine-tuning, the same for all")


def add_labelled_option(parser: argparse.ArgumentParser, wanted: str) -> None:
    """`--labelled`, for benchmarks that fine-tune on several data sets; `wanted` says in the help which."""
    parser.add_argument(
        "--labelled", action="append", required=True, metavar="NAME=FOLDER", help=f"{wanted}; can be repeated"
    )


def labelled(stated: Sequence[str]) -> dict[str, Path]:
    """The folders of `--labelled` by their names. Raises InputError for what is no pair, and for a name that is there twice."""
    found: dict[str, Path] = {}
    for pair in stated:
        name, equals, folder = pair.partition("=")
        if not (name and equals and folder) or name in found:
            raise InputError(
                f"--labelled is {pair!r}; it must be NAME=FOLDER, such as funsd=runs/funsd, with each name once"
            )
        found[name] = Path(folder)
    return found


class Runs:
    """A folder of encoded data sets, checkpoints, their scores and their logs.

    Args:
        benchmark: its name, also that of MLflow's experiment.
        options: of the command line, with those of `add_options`.

    Raises:
        LayoutrayError: naming the log, when a verb fails.
    """

    def __init__(self, benchmark: str, options: argparse.Namespace) -> None:
        self.out: Path = options.out.absolute()
        self.out.mkdir(parents=True, exist_ok=True)
        self._benchmark = benchmark
        self._options = options

    def folder(self, name: str, seed: int) -> Path:
        """Checkpoint of one system and seed."""
        return self.out / f"{name.lower().replace(' + ', '-').replace(' ', '-')}-{seed}"

    def encode(self, recipe: str, pages: str, name: str, keys: Mapping[str, object]) -> Path:
        """The data set called `name`, encoded where it is not there yet."""
        folder = self.out / name
        if not (folder / "dataset.json").is_file():
            self._verb("encode", folder.with_suffix(".log"), recipe, pages, "--out", str(folder), *_set(keys))
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
        """The checkpoint in `folder`; a finished one stays as it is, as `verb` sees to."""
        initial = [argument for start in starts for argument in ("--init", str(start))]
        settings = [*_set(keys), *(argument for pair in self._options.set for argument in ("--set", pair))]
        log = folder.with_name(f"{folder.name}.log")
        self._verb(
            verb, log, recipe, str(examples), "--out", str(folder), "--experiment", self._benchmark, *settings, *initial
        )

    def evaluated(self, folder: Path, pages: Path, without: Path | None = None) -> dict[str, float]:
        """Metrics of a checkpoint on the test pages of `pages`, but for those of the documents in the file `without`."""
        name = folder.name if without is None else f"{folder.name}.without-{without.stem}"
        scores = folder.with_name(f"{name}.json")
        if not scores.is_file():
            left_out = [] if without is None else ["--without", str(without)]
            self._verb(
                "evaluate",
                folder.with_name(f"{name}.evaluate.log"),
                str(folder),
                str(pages),
                "--json",
                str(scores),
                *left_out,
            )
        return json.loads(scores.read_text(encoding="utf-8"))["metrics"]

    def all(
        self, rows: Mapping[str, Row], run: Callable[[str, int], dict[str, float]], seeds: Sequence[int] = ()
    ) -> Scores:
        """Seed by seed, so that an interrupted benchmark has whole tables of the first; all of the options unless `seeds` are given."""
        jobs = [(name, seed) for seed in seeds or self._options.seeds for name in rows]
        scores: Scores = {name: {} for name in rows}
        with ThreadPoolExecutor(self._options.at_once) as pool:
            found = pool.map(lambda job: run(*job), jobs)
            for number, ((name, seed), metrics) in enumerate(zip(jobs, found, strict=True), start=1):
                scores[name][seed] = metrics
                terminal.say(f"{name}, seed {seed} done ({number} of {len(jobs)})")
        return scores

    def finish(self, report: Mapping[str, Any], trained: Scores) -> None:
        """The report into a file, MLflow and the output, with a picture of these systems' perplexity on dev over steps, if any."""
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
        log(self._benchmark, {name: str(value) for name, value in vars(self._options).items()}, report, pictures)
        sys.stdout.write(json.dumps(report) + "\n")

    def _verb(self, verb: str, log: Path, *arguments: str) -> None:
        """With one thread: that is how two trainings share a small machine best."""
        with log.open("w", encoding="utf-8") as stream:
            command = [sys.executable, "-m", f"pipelines.{verb}", *arguments]
            done = subprocess.run(
                command, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False
            )
        if done.returncode:
            raise LayoutrayError(f"{' '.join(command[2:4])} ended with status {done.returncode}; see {log}")


def tables(scores: Scores, systems: Mapping[str, Iterable[str]]) -> dict[str, Scores]:
    """By title, the scores of the systems of each table that were chosen, without a table whose rows another one has."""
    chosen = {title: {name: scores[name] for name in names if name in scores} for title, names in systems.items()}
    shown: dict[str, Scores] = {}
    for title, rows in chosen.items():
        more = any(rows.keys() < others.keys() for others in chosen.values())
        same = any(rows.keys() == others.keys() for others in shown.values())
        if not more and not same:
            shown[title] = rows
    return shown


def schedule(steps: int) -> dict[str, int]:
    """Keys of [train] that every training of a benchmark shares: a tenth of the steps warms up, six evaluations follow the curve."""
    return {"train.steps": steps, "train.warmup_steps": steps // 10, "train.evaluate_every": max(steps // 6, 1)}


def _set(keys: Mapping[str, object]) -> list[str]:
    return [argument for key, value in keys.items() for argument in ("--set", f"{key}={value}")]
