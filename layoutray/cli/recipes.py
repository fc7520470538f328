"""`layoutray recipes`: list the shipped recipes, or print one."""

import sys
from collections.abc import Sequence
from itertools import takewhile

from layoutray.cli.shared import options
from layoutray.cli.shared.options import option
from layoutray.recipe import files

_OPTIONS = {"name": option(nargs="?", help="recipe to print (default: list all)")}


def main(arguments: Sequence[str] | None = None) -> int:
    name = options.parser("recipes", _OPTIONS).parse_args(arguments).name
    if name:
        sys.stdout.write(files.find(name).read_text(encoding="utf-8"))
        return 0
    known = files.shipped()
    width = max(map(len, known))
    for recipe, file in sorted(known.items()):
        sys.stdout.write(f"{recipe:<{width}}  {_first_sentence(file.read_text(encoding='utf-8'))}\n")
    return 0


def _first_sentence(text: str) -> str:
    """Of the comment at the beginning of a recipe."""
    comment = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.removeprefix("#").strip() for line in comment).partition(". ")[0].rstrip(".")
