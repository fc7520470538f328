"""`layoutray compare`: train several recipes on labelled pages and report which is the best, if the data can tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.evaluation_options import SelectionOptions
from layoutray.cli.shared.options import option
from layoutray.cli.shared.trial_options import SeedOptions

_ARCHITECTURES = (
    *("bert", "layoutlm", "lilt", "layoutlmv3"),
    *("lambert", "formnet", "skimformer", "skim_embeddings", "pyramidion"),
)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SeedOptions, SelectionOptions):
    """Options of `layoutray compare`."""

    pages: Sequence[str] = option(nargs=1, help="folder written by `layoutray ingest`")
    split: str = options.split("dev")
    recipes: Sequence[str] = option(
        nargs="+",
        metavar="RECIPE[=NAME]",
        help="training recipe: the name of a shipped one, or a .toml file; NAME is its name in the report; a single "
        "recipe is trained with each of --architectures in place of its own",
    )
    architectures: Sequence[str] = option(
        "--architectures",
        nargs="+",
        default=_ARCHITECTURES,
        metavar="NAME",
        help="architectures for a single recipe, or model types of the transformers library (default: "
        f"{' '.join(_ARCHITECTURES)})",
    )
    size: str = option(
        "--size", default="small", help="of --architectures; minilm fits a MiniLM as --init (default: %(default)s)"
    )
    init: Sequence[str] = option(
        "--init",
        action="append",
        default=[],
        metavar="[NAME=]CHECKPOINT",
        help="start all recipes, or the one named NAME, from this folder, s3:// address or models:/NAME@ALIAS, also "
        "with its vocabulary if the recipe names none; repeatable (default: train from scratch)",
    )
    steps: int | None = option(
        "--steps",
        group="length",
        type=checked.positive,
        help="of every training (default: those of the recipes, if they agree)",
    )
    minutes: float | None = option(
        "--minutes",
        group="length",
        type=checked.positive_number,
        help="of every training: each has the number of steps that fit into this time on this machine",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("compare", arguments, CompareOptions)
    from layoutray.cli.work import compare

    return compare.run(chosen)
