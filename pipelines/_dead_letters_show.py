"""The dead letters of one document or page, with everything that is known of each."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict

from layoutray.errors import InputError
from pipelines import _dead_letters as dead_letters


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray dead-letters show", description=__doc__)
    dead_letters.add_options(parser)
    parser.add_argument(
        "which",
        help="page id, document id or source as `list` shows them; the start of an id or the end of a source will do",
    )
    options = parser.parse_args(arguments)
    found = [
        letter
        for letter in dead_letters.chosen(options)
        if letter.source.endswith(options.which)
        or letter.page_id.startswith(options.which)
        or letter.doc_id.startswith(options.which)
    ]
    if not found:
        raise InputError(
            f"no dead letter in {options.folder} is of {options.which!r}; see `layoutray dead-letters list {options.folder}`"
        )
    for letter in found:
        lines = [f"{name}: {value}" for name, value in asdict(letter).items() if name != "trace"]
        sys.stdout.write("\n".join([*lines, letter.trace, ""]))
    return 0
