"""`layoutray train`: from a folder of labelled documents to a measured, registered model, with one command.

The folder `--out` has a folder for each step, where the same command continues after an interruption:

pages/          the documents with their words (`ingest`); the next command reads only documents that are new
trainings/*/    for each set of documents and options:
    examples/       windows of tokens (`encode`)
    folds/          of the models that have not seen some of the documents, which measure them: their answers
    trained/        the model of all documents
disagreements/  documents whose answers differ from the values that a large model has stated, for the review page
model/          the newest of these models, with thresholds: the result
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.options import option
from layoutray.cli.shared.trial_options import TrialOptions
from layoutray.document.field_type import FieldType

TYPES = get_args(FieldType.__dataclass_fields__["type"].type)
"""Types of `--fields`."""


@dataclass(frozen=True, kw_only=True)
class TrainFolderOptions(TrialOptions):
    """Options of `layoutray train`."""

    folders: Sequence[str] = option(
        nargs="+",
        metavar="folder",
        help="folder or s3:// address with files and their values.csv or values.jsonl, with documents that were "
        "finished on the review page, or with a Label Studio export",
    )
    out: str = option(
        "--out", required=True, help="folder for the model and all steps to it; the same command continues there"
    )
    fields: str = option(
        "--fields",
        default="",
        metavar="NAME[:TYPE],…",
        help=f"fields to train, for example 'total:amount, date:date'; types are {', '.join(TYPES)} (default: all "
        "fields, with types that fit their values)",
    )
    name: str = option(
        "--name", default="", help="name of the model in MLflow's registry (default: the name of the first folder)"
    )
    folds: int = option(
        "--folds",
        type=checked.positive,
        default=0,
        help="parts of the documents; each is measured by a model of the others (default: 5, of which one is measured "
        "if there are more than 50 documents)",
    )


@dataclass(frozen=True, kw_only=True)
class TrainedFolder:
    """A model of a folder's documents.

    Attributes:
        checkpoint: its folder or address.
        model: its name in MLflow's registry.
        metrics: of documents that the measuring models were not trained on; see `field_f1`.
    """

    checkpoint: str
    model: str
    metrics: dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("train", arguments, TrainFolderOptions)
    from layoutray.cli.work import train_folder

    if chosen.dry_run:
        return train_folder.show_plan(chosen)
    train_folder.run(chosen)
    return 0


def train_folder(folders: str | Path | Sequence[str | Path], *, out: str | Path, **given: Any) -> TrainedFolder:
    """Train a model of folders of labelled documents, and measure it. An interrupted call is continued by the next.

    Starts Ray, or joins the cluster at RAY_ADDRESS.

    Args:
        folders: one or several, each with files and values.csv or values.jsonl, with reviewed documents, or with a
            Label Studio export.
        out: folder for the model and all steps to it.
        given: other options of the verb, such as `fields`, `name`, `init` and `folds`; `overrides` is `--set`.

    Raises:
        InputError: if there is no such option, a folder has no labelled documents, there are too few of them, or `out`
            belongs to another call.
        RecipeError: if a key of `overrides` has a value that is not allowed.
    """
    several = [str(folders)] if isinstance(folders, str | Path) else [*map(str, folders)]
    parsed = options.given("train", [f"--out={out}", "--", *several], TrainFolderOptions)
    named = "".join(f", {name}={value!r}" for name, value in given.items())
    call = f"layoutray.train({several!r}, out={str(out)!r}{named})"
    from layoutray.cli.work import train_folder

    return train_folder.run(replace(options.with_options(parsed, given), command=options.command_line(call, [])))
