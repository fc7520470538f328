"""Tokens per second of a training by its recipe keys for speed and memory, and of an older version."""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure.training_speed import Speed, SpeedRun, measure
from benchmarks.options import add_overrides
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import local_folder
from layoutray.cli.shared.options import parse

_REPOSITORY = Path(__file__).resolve().parents[2]
_BEFORE = "before"
_VARIANTS = {
    "padded": (),
    "padded, compiled": ("train.compile=true",),
    "padded, activation checkpointing": ("train.activation_checkpointing=true",),
    "padded, fast dropout": ("train.dropout=fast",),
    "packed": ("train.windows=packed",),
    "packed, fast dropout": ("train.windows=packed", "train.dropout=fast"),
    "packed, fast dropout, none on attention": (
        "train.windows=packed",
        "train.dropout=fast",
        "model.attention_dropout=0.0",
    ),
}
"""Recipe keys of each variant."""


@dataclass(frozen=True, kw_only=True)
class TrainingSpeedOptions:
    """Options of this benchmark.

    Attributes:
        before: a folder with another version of the repository.
        only: the variants to measure.
    """

    examples: Path
    recipe: str
    overrides: Sequence[str]
    before: Path | None
    only: Sequence[str]
    steps: int
    rounds: int
    threads: int


def main(arguments: Sequence[str]) -> int:
    options = parse(_parser(), arguments, TrainingSpeedOptions)
    names = ([_BEFORE] if options.before else []) + list(options.only)
    speeds: dict[str, list[Speed]] = {name: [] for name in names}
    for number in range(options.rounds):
        # In turns, so that a change of the machine's speed affects all of them.
        for name in names if number % 2 == 0 else reversed(names):
            speeds[name].append(_measure(options, name))
            terminal.say(f"round {number + 1}, {name}: {speeds[name][-1].per_second:.0f} tokens/s")
    rows = [(name, *_cells(found, speeds[names[0]])) for name, found in speeds.items()]
    columns = ("training", "tokens/s", "ratio, median (least to most)", "tokens per CPU second", "ratio", "peak MiB")
    title = f"{options.recipe}, {options.threads} threads, {options.rounds} rounds, relative to {names[0]}"
    terminal.show_table(title, columns, rows)
    sys.stdout.write(json.dumps({name: list(map(asdict, found)) for name, found in speeds.items()}) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks training-speed", description=__doc__)
    parser.add_argument("recipe", help="recipe of the training")
    parser.add_argument("examples", type=local_folder, help="folder of examples, written by `layoutray encode`")
    add_overrides(parser)
    parser.add_argument("--before", type=local_folder, help="checkout of another version, which is measured too")
    parser.add_argument("--only", nargs="+", choices=list(_VARIANTS), default=list(_VARIANTS), help="default: all")
    parser.add_argument("--steps", type=int, default=4, help="measured steps of each training")
    parser.add_argument("--rounds", type=int, default=3, help="each round measures all trainings one after the other")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    return parser


def _measure(options: TrainingSpeedOptions, name: str) -> Speed:
    overrides = (*options.overrides, *_VARIANTS.get(name, ()))
    run = SpeedRun(
        examples=str(options.examples.absolute()),
        recipe=options.recipe,
        overrides=overrides,
        steps=options.steps,
        threads=options.threads,
    )
    return measure(run, options.before or _REPOSITORY if name == _BEFORE else _REPOSITORY)


def _cells(found: Sequence[Speed], reference: Sequence[Speed]) -> list[str]:
    cells: list[str] = []
    for name in ("per_second", "per_cpu_second"):
        ours, theirs = ([getattr(one, name) for one in speeds] for speeds in (found, reference))
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        cells += [f"{statistics.median(ours):.0f}", spread]
    return [*cells, f"{statistics.median(one.peak_mib for one in found):.0f}"]
