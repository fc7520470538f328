"""`layoutray import`: convert a released model into a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared import options, output_folder, terminal
from layoutray.cli.shared.options import RecipeOptions, option


@dataclass(frozen=True, kw_only=True)
class ImportOptions(RecipeOptions):
    """Options of `layoutray import`."""

    release: str = option(help="kind of the released model, e.g. skim-attention")
    folder: Path = option(
        type=Path,
        help="folder with its configuration, weights and vocabulary; a file labels.json there names the outputs",
    )
    out: str = option(help="checkpoint folder or s3:// address, new or empty")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("import", arguments, ImportOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray import checkpoint
    from layoutray.releases import importers

    imported = importers.load(chosen.release)(chosen.folder, chosen.overrides)
    if chosen.dry_run:
        plan = {"model from": str(chosen.folder), "checkpoint": chosen.out, "labels": imported.labels}
        return terminal.show_plan(imported.recipe, plan)
    with output_folder.new_folder(chosen.out) as out:
        checkpoint.save(out, imported)
    labels = f", labels {', '.join(imported.labels)}" if imported.labels else ""
    terminal.say(f"checkpoint: {chosen.out} ({imported.recipe.arch}, task {imported.recipe.task.name}{labels})")
    if fresh := imported.provenance["fresh"]:
        terminal.say(f"not in {chosen.folder}, so randomly initialised: {checkpoint.listed(fresh)}")
    return 0
