"""What the verbs write: messages and tables on stderr, results on stdout, errors as one line."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from layoutray import config
from layoutray.errors import LayoutrayError

_CONSOLE = Console(stderr=True, highlight=False, soft_wrap=True)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def run(verb: Callable[[], int]) -> int:
    """Call `verb`. An error of layoutray, a disk or a server becomes one line on stderr and exit status 1."""
    try:
        return verb()
    except (LayoutrayError, OSError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        return 130


def say(text: str) -> None:
    """Write a message for people to stderr."""
    _CONSOLE.print(text, markup=False)


def show_plan(recipe: object, plan: Mapping[str, Any]) -> int:
    """Write the resolved recipe and the plan of a dry run to stdout, as JSON. Returns exit status 0."""
    sys.stdout.write(json.dumps({"recipe": config.to_dict(recipe), "plan": dict(plan)}, indent=2) + "\n")
    return 0


def show_report(report: Mapping[str, Any], file: str | None, *, indent: int | None = None) -> None:
    """Write a report as JSON to stdout and to `file`, a path or address; a missing folder is created.

    Args:
        indent: blanks per level on stdout; None is one line.
    """
    from layoutray.store import json_text, shards

    sys.stdout.write(json_text.dumps(report, indent=indent) + "\n")
    if file:
        shards.write_file(f"{json_text.dumps(report, indent=2)}\n".encode(), file)


def show_picture(png: bytes, file: Path) -> int:
    """Write a picture and print its path on stdout. Returns exit status 0."""
    from layoutray.store import shards

    shards.write_file(png, str(file))
    return show_path(file)


def show_path(file: Path) -> int:
    """Print the path of a written file on stdout. Returns exit status 0."""
    sys.stdout.write(f"{file}\n")
    return 0


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table for people to stderr; floats with four decimals. Text of documents controls no terminal."""
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        texts = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*(Text(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)) for text in texts))
    _CONSOLE.print(table)
