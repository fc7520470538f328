"""What the verbs share at the terminal: recipe options, plans, tables, and errors as one clear line."""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from layoutray import recipe
from layoutray.errors import LayoutrayError
from layoutray.recipe import IngestRecipe, MixRecipe, Recipe
from layoutray.tasks import WritesTexts

_SPEAK = Console(stderr=True, highlight=False, soft_wrap=True)


def add_recipe_options(parser: argparse.ArgumentParser) -> None:
    """`--set` and `--dry-run`, the same for every verb that takes a recipe."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a recipe key by its dotted path; repeatable",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the resolved recipe and the plan, and do nothing")


def add_picture_option(parser: argparse.ArgumentParser, default: str) -> None:
    """`--out`, the same for every picture."""
    parser.add_argument(
        "--out",
        type=_png_file,
        default=Path(default),
        metavar="FILE.png",
        help=f"where to write it (default: {default})",
    )


def local_folder(text: str) -> Path:
    """For `type=` of an option. Raises argparse's error for the address of an object store, which `Path` would take for a relative path."""
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text} is an address, and this is written to disks; give a folder")
    return Path(text)


def _png_file(text: str) -> Path:
    if not text.endswith(".png"):
        raise argparse.ArgumentTypeError(f"{text} does not end in .png, which is what is written")
    return local_folder(text)


def run(verb: Callable[[], int]) -> int:
    """Call `verb`; an error of ours, or of a disk or server, becomes one line on stderr and exit status 1."""
    try:
        return verb()
    except (LayoutrayError, OSError) as error:
        _SPEAK.print(f"error: {error}", markup=False)
        return 1
    except KeyboardInterrupt:
        _SPEAK.print("stopped")
        return 130


def run_named(verb: str, arguments: Sequence[str] | None) -> int:
    """Run the module `_VERB_NAME` for a verb whose first argument is a name; exit status 2 where there is no such name."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    modules = {
        file.stem.removeprefix(f"_{verb}_").replace("_", "-"): file.stem
        for file in Path(__file__).parent.glob(f"_{verb}_*.py")
    }
    if name not in modules:
        say(
            f"usage: layoutray {verb.replace('_', '-')} NAME …   (NAME --help says more)\n  NAME is one of {', '.join(sorted(modules))}"
        )
        return 0 if name in ("-h", "--help") else 2
    return importlib.import_module(f"pipelines.{modules[name]}").main(rest)


def say(text: str) -> None:
    """A line for people, on stderr; results for programs go to stdout."""
    _SPEAK.print(text, markup=False)


def say_cuts(chosen: Recipe, documents: int, texts: int, where: str = "") -> None:
    """How many documents, and texts to write about them, are longer than a recipe takes, and `where` they are named; nothing of none."""
    if documents:
        say(
            f"{documents} documents have more tokens than max_length, {chosen.max_length}; of these only the beginning is read{where}"
        )
    if texts and isinstance(chosen.task, WritesTexts):
        longest = chosen.task.writing.max_length
        say(
            f"{texts} texts to write have more tokens than task.writing.max_length, {longest}; of these only the beginning counts{where}"
        )


def show_plan(chosen: Recipe | IngestRecipe | MixRecipe, plan: Mapping[str, Any]) -> int:
    """Print the resolved recipe and the plan as JSON on stdout."""
    sys.stdout.write(json.dumps({"recipe": json.loads(recipe.to_json(chosen)), "plan": dict(plan)}, indent=2) + "\n")
    return 0


def show_picture(png: bytes, file: Path) -> int:
    """Write a picture and print its place on stdout."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(png)
    sys.stdout.write(f"{file}\n")
    return 0


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table for people, on stderr."""
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row))
    _SPEAK.print(table)
