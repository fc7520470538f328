"""Try dead letters of an ingested folder again, and no other page; those that work now become pages."""

import argparse
from collections.abc import Sequence

from layoutray.cluster.connect import connect
from layoutray.cluster.replay import replay
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from pipelines import _account as account
from pipelines import _dead_letters as dead_letters
from pipelines import _terminal as terminal
from pipelines._progress import ProgressShown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray dead-letters replay", description=__doc__)
    dead_letters.add_options(parser)
    parser.add_argument("--workers", type=int, help="processes that read pages (default: one for each core)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value of a key of `recognition`, for these; repeatable",
    )
    options = parser.parse_args(arguments)
    letters = dead_letters.chosen(options)
    if not letters:
        terminal.say(f"no such dead letters in {options.folder}")
        return 0
    with ProgressShown() as progress, connect():
        manifest = replay(
            sources.absolute(options.folder), letters, options.set, workers=options.workers, progress=progress
        )
    account.show(manifest, options.folder)
    left = {(letter.source, letter.page) for letter in DataSet(options.folder).read_dead_letters()}
    cleared = sum((letter.source, letter.page) not in left for letter in letters)
    terminal.say(f"{cleared} of {len(letters)} dead letters are cleared")
    return 0
