"""`layoutray encode`: cut pages into the windows that a task trains on, or join them to whole documents."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.cli.verbs import needs_extra

if TYPE_CHECKING:
    from layoutray.recipe.recipes import Recipe
    from layoutray.store.card import Card


_OPTIONS = {
    "recipe": options.recipe("training"),
    "pages": option(nargs="+", help="folders written by `layoutray ingest`"),
    "out": option("--out", required=True, help="folder for the examples; an interrupted run is continued"),
    "workers": option("--workers", type=checked.positive, help="processes that encode pages (default: one per core)"),
    "tracking_uri": options.tracking_uri(),
    **options.declared(RecipeOptions),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = options.parse_for("encode", _OPTIONS, arguments, encode)
    if given.pop("dry_run"):
        return _show_plan(given["recipe"], given["overrides"], given["pages"], given["out"])
    encode(**given)
    return 0


def _show_plan(recipe: str, overrides: Sequence[str], pages: Sequence[str], out: str) -> int:
    from layoutray.cluster.encode import count_pages
    from layoutray.recipe import recipes
    from layoutray.store.data_set import DataSet

    loaded = recipes.load(recipe, overrides)
    folders, folder = _checked(pages, out)
    counts, _, _ = count_pages([DataSet(one) for one in folders])
    return terminal.show_plan(loaded, {"pages from": pages, "examples to": folder, "pages": dict(counts)})


def _checked(pages: Sequence[str | Path], out: str | Path) -> tuple[list[str], str]:
    """The absolute folders of pages and examples. Raises InputError or SchemaError before Ray starts."""
    from layoutray.cli.shared import output_folder
    from layoutray.store import folder_kind, sources
    from layoutray.store.data_set import DataSet

    folders = [sources.absolute(str(one)) for one in pages]
    for folder in folders:
        DataSet(folder).check()
    return folders, output_folder.usable(out, folder_kind.EXAMPLES)


@needs_extra("encode")
def encode(
    recipe: str,
    pages: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    workers: int | None = None,
    tracking_uri: str = "",
    overrides: Sequence[str] = (),
) -> "Card":
    """Cut pages into the windows that a task trains on, or join them to whole documents.

    An interrupted call is continued by the next one. Starts Ray, or joins the cluster at RAY_ADDRESS.

    Args:
        recipe: name of a shipped training recipe, or a .toml file.
        pages: folders that `ingest` has written.
        out: folder for the examples.
        workers: processes that encode pages; None: one per core.
        tracking_uri: MLflow server or store for a vocabulary `models:/`; empty: MLFLOW_TRACKING_URI, else ./mlflow.db.
        overrides: `KEY=VALUE` assignments to recipe keys.

    Returns:
        The card: counts of pages and examples by split, and what was left out.

    Raises:
        RecipeError: if there is no such recipe, or a key has a value that is not allowed.
        InputError: if no page can be encoded.
        SchemaError: if a folder of `pages` is not a data set.
    """
    # Imported here because Ray and PyTorch take seconds, for which `--help` shall not wait.
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster import encode as on_ray
    from layoutray.cluster.connect import connect
    from layoutray.recipe import recipes
    from layoutray.store.output_lock import working_on
    from layoutray.tracking import registered, stores

    uri = tracking_uri or stores.default_uri()
    loaded = resolved(recipes.load(recipe, overrides), uri)
    given = [pages] if isinstance(pages, str | Path) else pages
    folders, folder = _checked(given, out)
    fetch = registered.fetcher(uri)
    with working_on(folder), ProgressDisplay() as progress, connect(gpus=0):
        card = on_ray.encode(loaded, folders, folder, workers=workers, fetch=fetch, progress=progress)
    summarise(card, loaded, str(out))
    return card


def resolved(training_recipe: "Recipe", uri: str) -> "Recipe":
    """The recipe with the version of the registered model that `tokenizer.path` names now."""
    from layoutray.tracking import registered

    path = training_recipe.tokenizer.path
    if not path:
        return training_recipe
    named = dataclasses.replace(training_recipe.tokenizer, path=registered.resolve(path, uri))
    return dataclasses.replace(training_recipe, tokenizer=named)


def summarise(card: "Card", training_recipe: "Recipe", out: str) -> None:
    rows = [(split, card.pages[split], card.examples[split]) for split in card.pages]
    terminal.show_table(f"Examples in {out}", ("split", "pages", "examples"), rows)
    see = f"see `layoutray dead-letters list {out}`"
    if card.filtered:
        by_count = sorted(card.filtered.items(), key=lambda name_and_count: -name_and_count[1])
        reasons = ", ".join(f"{count} by {name}" for name, count in by_count)
        terminal.say(
            f"{sum(card.filtered.values())} of {sum(card.pages.values())} pages do not pass the filters: {reasons}"
        )
    if card.superseded:
        terminal.say(f"{card.superseded} pages are left out: a later folder has their documents, too")
    if card.partial:
        terminal.say(
            f"{card.partial} documents are known in part: {card.values_of_partial} of their values are learnt, and "
            "nothing of the words that nobody has answered"
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


def say_cuts(recipe: "Recipe", documents: int, texts: int, where: str = "") -> None:
    """Say how many documents and target texts were truncated, if any, and `where` to list them."""
    from layoutray.tasks import WritesTexts

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
