"""Cut PAGES into the windows of tokens that a task trains on, or join them to whole documents where it writes."""

import argparse
import sys
from collections.abc import Sequence

from layoutray import recipe
from layoutray.cluster.connect import connect
from layoutray.cluster.encode import encode
from layoutray.store import sources
from pipelines import _terminal as terminal
from pipelines._progress import ProgressShown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray encode", description=__doc__)
    parser.add_argument("recipe", help="a training recipe: its name, or a .toml file")
    parser.add_argument("pages", nargs="+", help="folders that `layoutray ingest` has written")
    parser.add_argument("--out", required=True, help="folder for the examples")
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    chosen = recipe.load(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(chosen, {"pages from": options.pages, "examples to": options.out})
    with ProgressShown() as progress, connect():
        card = encode(
            chosen, [sources.absolute(folder) for folder in options.pages], sources.absolute(options.out), progress
        )
    terminal.show_table(
        f"Examples in {options.out}",
        ("split", "pages", "examples"),
        [(split, card.pages[split], card.examples[split]) for split in card.pages],
    )
    see = f"see `layoutray dead-letters list {options.out}`"
    if card.filtered:
        reasons = ", ".join(
            f"{count} by {name}" for name, count in sorted(card.filtered.items(), key=lambda one: -one[1])
        )
        terminal.say(
            f"{sum(card.filtered.values())} of {sum(card.pages.values())} pages do not pass the filters: {reasons}"
        )
    if card.dead:
        terminal.say(f"{card.dead} pages could not be encoded: {see}")
    if card.missing:
        terminal.say(f"{card.missing} of {card.values} values stand on no page of their document: {see}")
    terminal.say_cuts(chosen, card.cut, card.texts_cut, f": {see}")
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(main))
