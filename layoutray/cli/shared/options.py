"""Options of the verbs. Each is a field of its verb's dataclass, made by `option`; here are those of several verbs."""

import argparse
import dataclasses
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from layoutray.cli.shared import checked
from layoutray.cli.verbs import VERBS
from layoutray.errors import InputError
from layoutray.tracking import stores

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")

Options = TypeVar("Options")


def option(*flags: str, group: str = "", **settings: Any) -> Any:
    """A field that a verb takes from its command line: as an option with these `flags`, or without any by position.

    Args:
        group: of the options of a group, at most one can be given.
        settings: keywords of `argparse.ArgumentParser.add_argument`; a default may be a function that gives it.
    """
    return field(metadata={"flags": flags, "group": group, "settings": settings})


def recipe(kind: str) -> Any:
    return option(help=f"{kind} recipe: the name of a shipped one, or a .toml file")


def overrides(help_text: str = "override a recipe key, given by its dotted path; repeatable") -> Any:
    """`--set`: `KEY=VALUE` assignments."""
    return option("--set", action="append", default=[], metavar="KEY=VALUE", help=help_text)


def checkpoint() -> Any:
    return option(help="checkpoint folder, s3:// address, or models:/NAME@ALIAS")


def pages() -> Any:
    """The positional argument `pages` of verbs that also take the pages that `predict` has read; see `AnswerSet`."""
    return option(help="folder written by `layoutray ingest`, or by `layoutray predict` from files")


def split(default: str) -> Any:
    choices = ("train", "dev", "test")
    return option("--split", default=default, choices=choices, help="split of the pages (default: %(default)s)")


def tracking_uri() -> Any:
    return option(
        "--tracking-uri",
        default=stores.default_uri,
        help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)",
    )


def register() -> Any:
    return option(
        "--register",
        metavar="NAME",
        default="",
        help="register the model under this name, with alias `candidate`; the first version is also the `champion`",
    )


def report_file() -> Any:
    """`--json`; see `terminal.show_report`."""
    return option(
        "--json",
        type=checked.report_name,
        metavar="FILE",
        help="also write the report to this file or s3:// address",
    )


def reading_workers() -> Any:
    return option("--workers", type=checked.positive, help="processes that read pages (default: one per core)")


def sample() -> Any:
    return option(
        "--sample",
        type=checked.whole,
        default=8,
        metavar="PAGES",
        help="with --dry-run: pages to read for an estimate of the time (default: %(default)s)",
    )


def price() -> Any:
    return option(
        "--price",
        type=checked.positive_number,
        default=None,
        metavar="PER_HOUR",
        help="with --dry-run: price of a core per hour, to estimate time and cost",
    )


def gpus(process: str, kind: Callable[[str], float] = checked.gpu_share) -> Any:
    return option(
        "--gpus",
        type=kind,
        help=f"GPUs of each {process}; 0 uses CPUs (default: 1 if there is one for each {process}, else 0)",
    )


def cpus(default: float) -> Any:
    return option(
        "--cpus",
        type=checked.positive_number,
        default=default,
        help="Ray's CPUs of each process that trains (default: %(default)s)",
    )


def max_failures(default: int) -> Any:
    return option(
        "--max-failures",
        type=checked.whole,
        default=default,
        help="how often a lost process is replaced before the training fails (default: %(default)s)",
    )


def beams() -> Any:
    return option(
        "--beams",
        type=checked.positive,
        default=1,
        help="beam width of text-generating models; 1 is greedy (default: %(default)s)",
    )


def picture_file(default: str, suffixes: Sequence[str] = (".png",)) -> Any:
    """`--out` of the verbs that draw, a file with one of `suffixes`."""
    return option(
        "--out",
        type=partial(checked.picture_file, suffixes=suffixes),
        default=default,
        metavar=" or ".join(f"FILE{suffix}" for suffix in suffixes),
        help="picture to write (default: %(default)s)",
    )


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """Options of every verb that reads a checkpoint."""

    checkpoint: str = checkpoint()
    tracking_uri: str = tracking_uri()


@dataclass(frozen=True, kw_only=True)
class GoalOptions:
    """Options of the verbs that promise a precision; see `layoutray.metrics.acceptance.Goal`."""

    precision: float = option(
        "--precision",
        type=checked.share,
        default=0.99,
        help="wanted precision of the accepted answers (default: 0.99)",
    )
    risk: float = option(
        "--risk",
        type=checked.share,
        default=0.1,
        help="probability that the true precision is lower (default: 0.1)",
    )


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """Options of every verb that takes a recipe."""

    overrides: Sequence[str] = overrides()
    dry_run: bool = option(
        "--dry-run", action="store_true", help="print the resolved recipe and the plan, and do nothing"
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(RecipeOptions):
    """Options of every verb that trains; see `TrainingResources`. `command` is the line that repeats the training."""

    command: str
    out: str = option(
        "--out",
        required=True,
        help="checkpoint folder (on a disk that all nodes share) or s3:// address; an interrupted training resumes",
    )
    init: Sequence[str] = option(
        "--init",
        action="append",
        default=[],
        metavar="CHECKPOINT",
        help="start from the encoder (and decoder, if both have one) of this folder, s3:// address, "
        "models:/NAME@ALIAS or `start`, the checkpoint of this package; repeatable for architectures that combine "
        "several; `none` trains from scratch (default: `start` where architecture, sizes and vocabulary fit)",
    )
    cpus: float = cpus(0.5)
    gpus: int | None = gpus("process that trains", checked.whole)
    threads: int | None = option(
        "--threads",
        type=checked.positive,
        help="PyTorch threads of each process (default: one for each whole CPU, at least 1)",
    )
    max_failures: int = max_failures(3)
    experiment: str = option(
        "--experiment", default="", help="MLflow experiment (default: the name of the folder of the documents)"
    )
    tracking_uri: str = tracking_uri()
    price: float | None = price()


@dataclass(frozen=True, kw_only=True)
class JobOptions(TrainingOptions):
    """Options of every verb that trains one recipe on one set of examples."""

    recipe: str = recipe("training")
    examples: str = option(help="folder written by `layoutray encode`")


def declared(kind: type[Any]) -> dict[str, Field[Any]]:
    """The options of a dataclass by name, those of its bases first."""
    return {one.name: one for one in dataclasses.fields(kind) if "flags" in one.metadata}


class _Parser(argparse.ArgumentParser):
    """Its errors are one line, as all errors of the verbs."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def parser(verb: str, fields: Mapping[str, Field[Any]]) -> argparse.ArgumentParser:
    return with_fields(_Parser(prog=f"layoutray {verb}", description=VERBS[verb].summary), fields)


def with_fields(made: argparse.ArgumentParser, fields: Mapping[str, Field[Any]]) -> argparse.ArgumentParser:
    """`made` with these options by name."""
    groups: dict[str, Any] = {"": made}
    for name, one in fields.items():
        flags, group, settings = (one.metadata[key] for key in ("flags", "group", "settings"))
        if callable(settings.get("default")):
            settings = {**settings, "default": settings["default"]()}
        if group not in groups:
            groups[group] = made.add_mutually_exclusive_group()
        groups[group].add_argument(*(flags or [name]), **({"dest": name} if flags else {}), **settings)
    return made


def given(verb: str, arguments: Sequence[str] | None, kind: type[Options]) -> Options:
    made = parser(verb, declared(kind))
    if issubclass(kind, TrainingOptions):
        made.set_defaults(command=command_line(made.prog, sys.argv[1:] if arguments is None else arguments))
    return parse(made, arguments, kind)


def parse(made: argparse.ArgumentParser, arguments: Sequence[str] | None, kind: type[Options]) -> Options:
    return kind(**vars(made.parse_args(arguments)))


def parse_for(
    verb: str, fields: Mapping[str, Field[Any]], arguments: Sequence[str] | None, function: Callable[..., object]
) -> dict[str, Any]:
    """The options in `arguments` by name. One that is not given has the default of that parameter of `function`."""
    made = parser(verb, fields)
    known = inspect.signature(function).parameters.values()
    stated = {one.name: one.default for one in known if one.default is not inspect.Parameter.empty}
    # Options that may be repeated append to their default.
    made.set_defaults(**{name: list(value) if value == () else value for name, value in stated.items()})
    return vars(made.parse_args(arguments))


def with_options(chosen: Options, options: Mapping[str, Any]) -> Options:
    """`chosen`, the parsed options of a verb, with `options` of a call in Python in their places: see `replacing`."""
    places = {one.name: getattr(chosen, one.name) for one in dataclasses.fields(cast(Any, chosen))}
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
