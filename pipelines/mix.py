"""Mix PAGES data sets by stated shares into one."""

import argparse
import sys
from collections.abc import Sequence

from layoutray import recipe
from layoutray.cluster.connect import connect
from layoutray.cluster.mix import mix
from layoutray.prepare.encode import SPLITS
from layoutray.store import sources
from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray mix", description=__doc__)
    parser.add_argument("recipe", help="a mix recipe: its name, or a .toml file")
    parser.add_argument(
        "pages", nargs="+", help="folders that `layoutray ingest` has written; their names are those of the shares"
    )
    parser.add_argument("--out", required=True, help="folder for the mix, as if `layoutray ingest` had written it")
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    chosen = recipe.load_mix(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(chosen, {"pages from": options.pages, "mix to": options.out})
    with connect():
        taken, available = mix(
            chosen, [sources.absolute(folder) for folder in options.pages], sources.absolute(options.out)
        )
    rows = [
        (name, *(f"{taken[name][split]} of {available[name][split]}" for split in SPLITS)) for name in sorted(taken)
    ]
    terminal.show_table(f"Pages in {options.out}", ("data set", *SPLITS), rows)
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(main))
