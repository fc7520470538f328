"""Turn a model that others have released into a checkpoint."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutray import checkpoint, importing
from layoutray.errors import InputError
from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray import", description=__doc__)
    parser.add_argument("release", help="whose model it is, e.g. skim-attention")
    parser.add_argument(
        "folder", type=Path, help="its configuration, weights and vocabulary; labels.json there names the outputs"
    )
    parser.add_argument("out", type=terminal.local_folder, help="checkpoint folder, new or empty")
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    made = importing.load(options.release)(options.folder, options.set)
    if options.dry_run:
        return terminal.show_plan(
            made.recipe, {"model from": str(options.folder), "checkpoint": str(options.out), "labels": made.labels}
        )
    if options.out.exists() and any(options.out.iterdir()):
        raise InputError(f"{options.out} is not empty; give another folder, or delete it")
    checkpoint.save(options.out, made)
    labels = f", labels {', '.join(made.labels)}" if made.labels else ""
    terminal.say(f"checkpoint: {options.out} ({made.recipe.arch}, task {made.recipe.task.name}{labels})")
    if fresh := made.provenance["fresh"]:
        terminal.say(f"not in {options.folder}, and left as they start: {checkpoint.listed(fresh)}")
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(main))
