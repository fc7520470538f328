"""`layoutray dead-letters replay`: process dead letters of an ingest again; those that now succeed become pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import ingest_summary, options, terminal
from layoutray.cli.shared.dead_letter_filter import DeadLetterFilter, add_filter_options
from layoutray.cli.shared.progress import ProgressDisplay
from layoutray.cluster.connect import connect
from layoutray.cluster.replay import replay
from layoutray.store import sources
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(DeadLetterFilter):
    """Options of `layoutray dead-letters replay`.

    Attributes:
        workers: processes that read pages; None starts one per core.
        overrides: `KEY=VALUE` assignments to keys of the recipe's section `recognition`.
    """

    workers: int | None
    overrides: Sequence[str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("dead-letters replay")
    add_filter_options(parser)
    options.add_reading_workers(parser)
    options.add_overrides(parser, "override a key of the recipe's section `recognition` for these pages; repeatable")
    chosen = options.parse(parser, arguments, ReplayOptions)
    letters = chosen.select()
    if not letters:
        terminal.say(f"{chosen.folder} has no such dead letters")
        return 0
    with ProgressDisplay() as progress, connect(gpus=0):
        folder = sources.absolute(chosen.folder)
        manifest = replay(folder, letters, chosen.overrides, workers=chosen.workers, progress=progress)
    ingest_summary.show(manifest, chosen.folder)
    remaining = {(letter.source, letter.page) for letter in DataSet(chosen.folder).read_dead_letters()}
    cleared = sum((letter.source, letter.page) not in remaining for letter in letters)
    terminal.say(f"{cleared} of {len(letters)} dead letters are cleared")
    return 0
