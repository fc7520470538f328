"""Options that several verbs share, each declared once. `parse` turns the parsed options into the verb's dataclass."""

import argparse
import dataclasses
import inspect
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from layoutray.cli.verbs import VERBS
from layoutray.errors import InputError

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")

Options = TypeVar("Options")
Training = TypeVar("Training", bound="TrainingOptions")


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """Options of every verb that takes a recipe.

    Attributes:
        overrides: `KEY=VALUE` assignments to recipe keys.
        dry_run: print the resolved recipe and the plan, and do nothing.
    """

    overrides: Sequence[str]
    dry_run: bool


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(RecipeOptions):
    """Options of every verb that trains.

    Attributes:
        init: checkpoints to start from; none trains from scratch.
        cpus, gpus, threads, max_failures: see `TrainingResources`.
        experiment: of MLflow; empty for one called like the data.
        command: the whole command, which repeats the training.
    """

    command: str
    out: str
    init: Sequence[str]
    cpus: float
    gpus: int | None
    threads: int | None
    max_failures: int
    experiment: str
    tracking_uri: str


@dataclass(frozen=True, kw_only=True)
class JobOptions(TrainingOptions):
    """Options of every verb that trains one recipe on one set of examples."""

    recipe: str
    examples: str


def parser(verb: str) -> argparse.ArgumentParser:
    """A parser without options for `layoutray VERB`."""
    return argparse.ArgumentParser(prog=f"layoutray {verb}", description=VERBS[verb].summary)


def parse(made: argparse.ArgumentParser, arguments: Sequence[str] | None, kind: type[Options]) -> Options:
    """The parsed `arguments` as dataclass `kind`, whose fields are the options of `made`."""
    return kind(**vars(made.parse_args(arguments)))


def parse_for(
    made: argparse.ArgumentParser, arguments: Sequence[str] | None, function: Callable[..., object]
) -> dict[str, Any]:
    """The parsed `arguments` by name. An option that is not given has the default of that parameter of `function`."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    stated = {name: default for name, default in defaults.items() if default is not inspect.Parameter.empty}
    # Options that may be repeated append to their default.
    made.set_defaults(**{name: list(value) if value == () else value for name, value in stated.items()})
    return vars(made.parse_args(arguments))


def parse_training(made: argparse.ArgumentParser, arguments: Sequence[str] | None, kind: type[Training]) -> Training:
    """`parse` for the options of a verb that trains, which are a `kind` of `TrainingOptions`."""
    given = sys.argv[1:] if arguments is None else arguments
    return kind(command=command_line(made.prog, given), **vars(made.parse_args(arguments)))


def with_options(chosen: Options, options: Mapping[str, Any]) -> Options:
    """`chosen`, the parsed options of a verb, with `options` of a call in Python in their places: see `replacing`."""
    places = {field.name: getattr(chosen, field.name) for field in dataclasses.fields(cast(Any, chosen))}
    return dataclasses.replace(cast(Any, chosen), **replacing(places, options))


def replacing(places: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call in Python, in the form of the parsed ones.

    A path may be a `Path`, and a list with one text may be the text. Raises InputError for an option that is not one of
    `places`, the parsed options by name.
    """
    known = [name for name in places if name not in ("dry_run", "command")]
    if unknown := [name for name in options if name not in known]:
        raise InputError(f"unknown option {', '.join(unknown)}; allowed: {', '.join(known)}")
    given = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    return given | {name: [value] for name, value in given.items() if isinstance(value, str) and places[name] == []}


def command_line(program: str, arguments: Sequence[str]) -> str:
    """The command `program` with `arguments` as a shell takes it, without names and passwords in addresses."""
    return _PASSWORD.sub("", f"{program} {shlex.join(arguments)}".strip())


def add_recipe(made: argparse.ArgumentParser, kind: str) -> None:
    """The positional argument `recipe`."""
    made.add_argument("recipe", help=f"{kind} recipe: the name of a shipped one, or a .toml file")


def add_recipe_options(made: argparse.ArgumentParser) -> None:
    """`--set` and `--dry-run`, the fields of `RecipeOptions`."""
    add_overrides(made, "override a recipe key, given by its dotted path; repeatable")
    made.add_argument("--dry-run", action="store_true", help="print the resolved recipe and the plan, and do nothing")


def add_overrides(made: argparse.ArgumentParser, help_text: str) -> None:
    """`--set`."""
    made.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help=help_text)


def add_training_options(made: argparse.ArgumentParser, process: str, *, cpus: float, max_failures: int) -> None:
    """The fields of `TrainingOptions`, without `--init`.

    Args:
        process: what Ray starts, a worker or a trial.
        cpus, max_failures: defaults of these options.
    """
    made.add_argument(
        "--out",
        required=True,
        help="checkpoint folder (on a disk that all nodes share) or s3:// address; an interrupted training resumes",
    )
    made.add_argument("--cpus", type=float, default=cpus, help=f"Ray's CPUs of each {process} (default: %(default)s)")
    add_gpus(made, process, int)
    made.add_argument(
        "--threads", type=int, help=f"PyTorch threads of each {process} (default: one for each whole CPU, at least 1)"
    )
    made.add_argument(
        "--max-failures",
        type=int,
        default=max_failures,
        help=f"how often a lost {process} is replaced before the training fails (default: %(default)s)",
    )
    made.add_argument(
        "--experiment", default="", help="MLflow experiment (default: the name of the folder of the documents)"
    )
    add_tracking_uri(made)
    add_recipe_options(made)


def add_job(made: argparse.ArgumentParser) -> None:
    """The fields that `JobOptions` adds, and `--init`."""
    add_recipe(made, "training")
    made.add_argument("examples", help="folder written by `layoutray encode`")
    made.add_argument(
        "--init",
        action="append",
        default=[],
        metavar="CHECKPOINT",
        help="start from the encoder (and decoder, if both have one) of this folder, s3:// address or "
        "models:/NAME@ALIAS; repeatable for architectures that combine several (default: train from scratch)",
    )


def add_register(made: argparse.ArgumentParser) -> None:
    """`--register`."""
    made.add_argument(
        "--register",
        metavar="NAME",
        default="",
        help="register the model under this name, with alias `candidate`; the first version is also the `champion`",
    )


def add_report_file(made: argparse.ArgumentParser) -> None:
    """`--json`; see `terminal.show_report`."""
    made.add_argument(
        "--json", type=_report_file, metavar="FILE", help="also write the report to this file or s3:// address"
    )


def _report_file(text: str) -> str:
    """`type=` of `--json`. Raises argparse's error, before any work, for a folder."""
    if "://" not in text and Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder; give a file")
    return text


def add_checkpoint(made: argparse.ArgumentParser) -> None:
    """The positional argument `checkpoint`."""
    made.add_argument("checkpoint", help="checkpoint folder, s3:// address, or models:/NAME@ALIAS")


def add_pages(made: argparse.ArgumentParser) -> None:
    """The positional argument `pages` of verbs that also take the pages that `predict` has read; see `AnswerSet`."""
    made.add_argument("pages", help="folder written by `layoutray ingest`, or by `layoutray predict` from files")


def add_tracking_uri(made: argparse.ArgumentParser) -> None:
    """`--tracking-uri`, resolved."""
    from layoutray.tracking import stores  # importing MLflow takes a second

    made.add_argument(
        "--tracking-uri",
        default=stores.default_uri(),
        help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)",
    )


def add_workers(made: argparse.ArgumentParser, default: int | None, help_text: str) -> None:
    """`--workers`."""
    made.add_argument("--workers", type=int, default=default, help=help_text)


def add_reading_workers(made: argparse.ArgumentParser) -> None:
    """`--workers` of the verbs that read pages."""
    add_workers(made, None, "processes that read pages (default: one per core)")


def add_gpus(made: argparse.ArgumentParser, process: str, kind: type[int] | type[float] = float) -> None:
    """`--gpus`, of each `process`."""
    made.add_argument(
        "--gpus",
        type=kind,
        help=f"GPUs of each {process}; 0 uses CPUs (default: 1 if there is one for each {process}, else 0)",
    )


def add_beams(made: argparse.ArgumentParser) -> None:
    """`--beams`."""
    made.add_argument(
        "--beams", type=int, default=1, help="beam width of text-generating models; 1 is greedy (default: %(default)s)"
    )


def add_picture_file(made: argparse.ArgumentParser, default: str, suffixes: Sequence[str] = (".png",)) -> None:
    """`--out` of the verbs that draw, a file with one of `suffixes`."""
    made.add_argument(
        "--out",
        type=partial(_picture_file, suffixes=suffixes),
        default=Path(default),
        metavar=" or ".join(f"FILE{suffix}" for suffix in suffixes),
        help="picture to write (default: %(default)s)",
    )


def local_folder(text: str) -> Path:
    """`type=` of an option for a local folder. Raises argparse's error for an address, which `Path` would accept."""
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text} is an address; it must be a path on a local disk")
    return Path(text)


def local_file(text: str) -> str:
    """`type=` of an option for a local file: its absolute path; empty stays empty. Errors as `local_folder`."""
    return str(local_folder(text).absolute()) if text else ""


def share(text: str) -> float:
    """`type=` of an option between 0 and 1. Raises argparse's error for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; give a number from 0 to 1, e.g. 0.01 for 1 %")
    return value


def positive(text: str) -> int:
    """`type=` of an option that counts from 1. Raises argparse's error for anything else."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1; give e.g. 20")
    return int(text)


def positive_number(text: str) -> float:
    """`type=` of an option that is a finite number above 0. Raises argparse's error for anything else."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; give e.g. 2.5")
    return number


def _picture_file(text: str, suffixes: Sequence[str]) -> Path:
    if not text.endswith(tuple(suffixes)):
        allowed = " or ".join(suffixes)
        raise argparse.ArgumentTypeError(f"{text} does not end in {allowed}; give a file name that does")
    return local_folder(text)
