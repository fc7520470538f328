"""`layoutray import`: convert a released model into a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray import checkpoint
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions
from layoutray.releases import importers


@dataclass(frozen=True, kw_only=True)
class ImportOptions(RecipeOptions):
    """Options of `layoutray import`."""

    release: str
    folder: Path
    out: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("import")
    parser.add_argument("release", help="kind of the released model, e.g. skim-attention")
    parser.add_argument(
        "folder",
        type=Path,
        help="folder with its configuration, weights and vocabulary; a file labels.json there names the outputs",
    )
    parser.add_argument("out", help="checkpoint folder or s3:// address, new or empty")
    options.add_recipe_options(parser)
    chosen = options.parse(parser, arguments, ImportOptions)
    imported = importers.load(chosen.release)(chosen.folder, chosen.overrides)
    if chosen.dry_run:
        plan = {"model from": str(chosen.folder), "checkpoint": chosen.out, "labels": imported.labels}
        return terminal.show_plan(imported.recipe, plan)
    checkpoint.save(options.require_empty(chosen.out), imported)
    labels = f", labels {', '.join(imported.labels)}" if imported.labels else ""
    terminal.say(f"checkpoint: {chosen.out} ({imported.recipe.arch}, task {imported.recipe.task.name}{labels})")
    if fresh := imported.provenance["fresh"]:
        terminal.say(f"not in {chosen.folder}, so randomly initialised: {checkpoint.listed(fresh)}")
    return 0
