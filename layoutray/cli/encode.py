"""`layoutray encode`: cut pages into the windows that a task trains on, or join them to whole documents."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions
from layoutray.cli.shared.progress import ProgressDisplay
from layoutray.cluster.connect import connect
from layoutray.cluster.encode import encode
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tasks import WritesTexts
from layoutray.tracking import registered


@dataclass(frozen=True, kw_only=True)
class EncodeOptions(RecipeOptions):
    """Options of `layoutray encode`."""

    recipe: str
    pages: Sequence[str]
    out: str
    workers: int | None
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("encode")
    options.add_recipe(parser, "training")
    parser.add_argument("pages", nargs="+", help="folders written by `layoutray ingest`")
    parser.add_argument("--out", required=True, help="folder for the examples; an interrupted run is continued")
    options.add_workers(parser, None, "processes that encode pages (default: one per core)")
    options.add_tracking_uri(parser)
    options.add_recipe_options(parser)
    chosen = options.parse(parser, arguments, EncodeOptions)
    training_recipe = recipes.load(chosen.recipe, chosen.overrides)
    if chosen.dry_run:
        return terminal.show_plan(training_recipe, {"pages from": chosen.pages, "examples to": chosen.out})
    folders = [sources.absolute(folder) for folder in chosen.pages]
    training_recipe = resolved(training_recipe, chosen.tracking_uri)
    out, fetch = sources.absolute(chosen.out), registered.fetcher(chosen.tracking_uri)
    with ProgressDisplay() as progress, connect():
        card = encode(training_recipe, folders, out, workers=chosen.workers, fetch=fetch, progress=progress)
    _summarise(card, training_recipe, chosen.out)
    return 0


def resolved(training_recipe: Recipe, uri: str) -> Recipe:
    """The recipe with the version of the registered model that `tokenizer.path` names now."""
    path = training_recipe.tokenizer.path
    if not path:
        return training_recipe
    named = dataclasses.replace(training_recipe.tokenizer, path=registered.resolve(path, uri))
    return dataclasses.replace(training_recipe, tokenizer=named)


def _summarise(card: Card, training_recipe: Recipe, out: str) -> None:
    rows = [(split, card.pages[split], card.examples[split]) for split in card.pages]
    terminal.show_table(f"Examples in {out}", ("split", "pages", "examples"), rows)
    see = f"see `layoutray dead-letters list {out}`"
    if card.filtered:
        by_count = sorted(card.filtered.items(), key=lambda name_and_count: -name_and_count[1])
        reasons = ", ".join(f"{count} by {name}" for name, count in by_count)
        terminal.say(
            f"{sum(card.filtered.values())} of {sum(card.pages.values())} pages do not pass the filters: {reasons}"
        )
    if card.dead:
        terminal.say(f"{card.dead} pages could not be encoded: {see}")
    if card.missing:
        terminal.say(
            f"{card.missing} of {card.values} field values were not found on any page of their document: {see}"
        )
    if card.contradictory:
        terminal.say(
            f"{card.contradictory} of {card.values} field values contradict others of their document and were left "
            f"out: {see}"
        )
    say_cuts(training_recipe, card.cut, card.texts_cut, f": {see}")


def say_cuts(recipe: Recipe, documents: int, texts: int, where: str = "") -> None:
    """Say how many documents and target texts were truncated. Says nothing for a count of 0.

    Args:
        where: appended to the message; how to list them.
    """
    if documents:
        limit = recipe.max_length
        terminal.say(
            f"{documents} documents have more tokens than max_length, {limit}; only their beginning is read{where}"
        )
    if texts and isinstance(recipe.task, WritesTexts):
        limit = recipe.task.writing.max_length
        terminal.say(
            f"{texts} target texts have more tokens than task.writing.max_length, {limit}; they are truncated{where}"
        )
