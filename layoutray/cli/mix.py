"""`layoutray mix`: combine several sets of pages into one, by the shares of a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.cli.shared.output_folder import usable
from layoutray.recipe.mix import load_mix
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.store.folder_kind import DATA_SET
from layoutray.store.output_lock import working_on
from layoutray.store.schema import SPLITS


@dataclass(frozen=True, kw_only=True)
class MixOptions(RecipeOptions):
    """Options of `layoutray mix`."""

    recipe: str = options.recipe("mix")
    pages: Sequence[str] = option(
        nargs="+", help="folders written by `layoutray ingest`; the recipe's shares refer to their names"
    )
    out: str = option("--out", required=True, help="folder for the mix, in the format of `layoutray ingest`")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("mix", arguments, MixOptions)
    # Imported here because Ray takes a second, for which `--help` shall not wait.
    from layoutray.cluster.connect import connect
    from layoutray.cluster.mix import mix

    mix_recipe = load_mix(chosen.recipe, chosen.overrides)
    folders, out = [sources.absolute(folder) for folder in chosen.pages], usable(chosen.out, DATA_SET)
    for folder in folders:
        DataSet(folder).check()
    if chosen.dry_run:
        return terminal.show_plan(mix_recipe, {"pages from": folders, "mix to": out})
    with working_on(out), connect(gpus=0):
        taken, available = mix(mix_recipe, folders, out)
    rows = [
        (name, *(f"{taken[name][split]} of {available[name][split]}" for split in SPLITS)) for name in sorted(taken)
    ]
    terminal.show_table(f"Pages in {chosen.out}", ("data set", *SPLITS), rows)
    return 0
