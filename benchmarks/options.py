"""Options that several benchmarks share, each declared once."""

import argparse
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared.checked import local_folder
from layoutray.errors import InputError

_WINDOWS = 8


@dataclass(frozen=True, kw_only=True)
class StepCostOptions:
    """Options of every benchmark of a training step.

    Attributes:
        lengths: tokens per window.
        tokens: maximum tokens per step.
        out: file that also gets the rows.
        picture: file that also gets the figure.
        add: files of rows of earlier runs.
    """

    size: str
    lengths: Sequence[int]
    models: Sequence[str]
    tokens: int
    compile: bool
    steps: int
    rounds: int
    out: Path | None
    picture: Path | None
    add: Sequence[Path]

    def windows(self, length: int) -> int:
        """Windows of `length` tokens in one step."""
        return max(1, min(_WINDOWS, self.tokens // length))


@dataclass(frozen=True, kw_only=True)
class RunsOptions:
    """Options of every benchmark of many trainings.

    Attributes:
        out: folder of all results.
        steps: of training; where a system is fine-tuned too, of its pretraining.
        overrides: `KEY=VALUE` assignments to recipe keys of all trainings.
        at_once: trainings that run at the same time.
    """

    out: Path
    seeds: Sequence[int]
    steps: int
    overrides: Sequence[str]
    at_once: int


@dataclass(frozen=True, kw_only=True)
class PretrainedRunsOptions(RunsOptions):
    """Options of every benchmark that pretrains and fine-tunes.

    Attributes:
        pages: folder of pages to pretrain on.
        length: tokens per window.
        tune_steps: of fine-tuning.
    """

    pages: Path
    length: int
    tune_steps: int


@dataclass(frozen=True, kw_only=True)
class LabelledRunsOptions(PretrainedRunsOptions):
    """Options of every benchmark that fine-tunes on several data sets.

    Attributes:
        labelled: `NAME=FOLDER` of each data set.
    """

    labelled: Sequence[str]

    def labelled_folders(self) -> dict[str, Path]:
        """The folders of `labelled` by name. Raises InputError for a malformed value or a repeated name."""
        folders: dict[str, Path] = {}
        for pair in self.labelled:
            name, equals, folder = pair.partition("=")
            if not (name and equals and folder) or name in folders:
                raise InputError(
                    f"--labelled is {pair!r}; it must be NAME=FOLDER, e.g. funsd=runs/funsd, each name once"
                )
            folders[name] = Path(folder)
        return folders


def add_step_cost_options(
    parser: argparse.ArgumentParser, models: Collection[str], *, size: str, lengths: Sequence[int]
) -> None:
    """The fields of `StepCostOptions`, with the defaults of one benchmark."""
    parser.add_argument("--size", default=size, choices=("tiny", "small", "base"), help=f"model size (default: {size})")
    parser.add_argument("--lengths", type=int, nargs="+", default=lengths, help="tokens per window")
    parser.add_argument("--models", nargs="+", choices=models, default=list(models), help="default: all")
    parser.add_argument(
        "--tokens", type=int, default=4096, help=f"maximum tokens per step; a step has at most {_WINDOWS} windows"
    )
    parser.add_argument("--compile", action="store_true", help="also measure each model with torch.compile")
    parser.add_argument("--steps", type=int, default=2, help="measured steps of each model, length and round")
    parser.add_argument("--rounds", type=int, default=3, help="each round measures all models one after the other")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the rows to this file")
    parser.add_argument(
        "--picture", type=png_file, metavar="FILE.png", help="also write the figure of time and memory by length"
    )
    parser.add_argument(
        "--add",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE.json",
        help="rows of earlier runs (their --out), which are drawn in the same figure",
    )


def add_recipe(parser: argparse.ArgumentParser, kind: str) -> None:
    """The positional argument `recipe`."""
    parser.add_argument("recipe", help=f"{kind} recipe: the name of a shipped one, or a .toml file")


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """`--set`."""
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a recipe key of all trainings by its dotted path; repeatable",
    )


def add_runs_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `RunsOptions`."""
    parser.add_argument(
        "--out",
        required=True,
        type=local_folder,
        help="folder of all results; a rerun does only what is missing",
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1, 2, 3], help="every system is trained once with each seed"
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=600,
        help="training steps of each system; where a system is fine-tuned too, steps of its pretraining",
    )
    add_overrides(parser)
    parser.add_argument(
        "--at-once", type=int, default=2, help="trainings that run at the same time, with one thread each"
    )


def add_pretrained_runs_options(parser: argparse.ArgumentParser, *, length: int) -> None:
    """The fields of `PretrainedRunsOptions`, with the default length of one benchmark."""
    parser.add_argument("pages", type=Path, help="folder of pages to pretrain on, e.g. written by `layoutray mix`")
    parser.add_argument("--length", type=int, default=length, help="tokens per window")
    add_runs_options(parser)
    parser.add_argument("--tune-steps", type=int, default=300, help="fine-tuning steps of each system")


def add_labelled_runs_options(parser: argparse.ArgumentParser, wanted: str) -> None:
    """The fields of `LabelledRunsOptions`; `wanted` describes the data sets in the help."""
    add_pretrained_runs_options(parser, length=512)
    parser.add_argument(
        "--labelled", action="append", required=True, metavar="NAME=FOLDER", help=f"{wanted}; repeatable"
    )


def add_only(parser: argparse.ArgumentParser, systems: Collection[str]) -> None:
    """`--only`, for benchmarks that can train some of their systems."""
    parser.add_argument(
        "--only", nargs="+", choices=systems, default=list(systems), help="train only these systems", metavar="SYSTEM"
    )


def png_file(text: str) -> Path:
    """For `type=` of an option. Raises argparse's error unless `text` is a local path that ends in .png."""
    if "://" in text or not text.endswith(".png"):
        raise argparse.ArgumentTypeError(f"{text!r} must be a path on this machine that ends in .png")
    return Path(text)
