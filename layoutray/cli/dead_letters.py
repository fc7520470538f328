"""`layoutray dead-letters NAME`: list, show and replay the documents and pages that failed."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from layoutray.cli.shared import ingest_summary, options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError, Reason
from layoutray.prepare.manifest import Manifest
from layoutray.store import folder_kind, sources
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.folder_kind import DATA_SET, EXAMPLES
from layoutray.store.output_lock import working_on


@dataclass(frozen=True, kw_only=True)
class DeadLetterFilter:
    """Options that select dead letters."""

    folder: str = option(help="folder or s3:// address written by `layoutray ingest` or `encode`")
    reason: str | None = option(
        "--reason", choices=[reason.value for reason in Reason], help="only those with this reason"
    )
    stage: str | None = option(
        "--stage",
        choices=("open", "render", "ocr", "annotation", "encode"),
        help="only those that failed at this stage",
    )

    def select(self) -> list[DeadLetter]:
        """The selected dead letters in order of source and page. Raises InputError for a folder that can have none."""
        found = folder_kind.found_at(self.folder)
        if found not in ("", *(f"it is {kind}" for kind in (DATA_SET, EXAMPLES))):
            raise InputError(
                f"{self.folder} has no dead letters: {found}; give a folder written by `layoutray ingest` or `encode`"
            )
        letters = [
            letter
            for letter in DataSet(self.folder).read_dead_letters()
            if self.reason in (None, letter.reason) and self.stage in (None, letter.stage)
        ]
        return sorted(letters, key=lambda letter: (letter.source, letter.page or 0))


@dataclass(frozen=True, kw_only=True)
class ShowOptions(DeadLetterFilter):
    """Options of `layoutray dead-letters show`."""

    which: str = option(help="page id, document id (its first characters suffice) or source (its end suffices)")


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(DeadLetterFilter):
    """Options of `layoutray dead-letters replay`."""

    workers: int | None = options.reading_workers()
    overrides: Sequence[str] = options.overrides(
        "override a key of the recipe's section `recognition` for these pages; repeatable"
    )


def list_letters(arguments: Sequence[str] | None = None) -> int:
    """Write counts by stage and reason to stderr, and each dead letter as a line of JSON to stdout."""
    chosen = options.given("dead-letters list", arguments, DeadLetterFilter)
    letters = chosen.select()
    counts = Counter((letter.stage, letter.reason, letter.retryable) for letter in letters)
    rows = [
        (stage, reason, "yes" if retryable else "no", count)
        for (stage, reason, retryable), count in counts.most_common()
    ]
    title = f"{len(letters)} dead letters in {chosen.folder}"
    terminal.show_table(title, ("stage", "reason", "retryable", "count"), rows)
    for letter in letters:
        values = {name: value for name, value in asdict(letter).items() if name != "trace"}
        sys.stdout.write(json.dumps(values, ensure_ascii=False) + "\n")
    return 0


def show(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("dead-letters show", arguments, ShowOptions)
    which = chosen.which
    letters = [
        letter
        for letter in chosen.select()
        if letter.source.endswith(which) or letter.page_id.startswith(which) or letter.doc_id.startswith(which)
    ]
    if not letters:
        raise InputError(
            f"{chosen.folder} has no dead letter of {which!r}; see `layoutray dead-letters list {chosen.folder}`"
        )
    for letter in letters:
        lines = [f"{name}: {value}" for name, value in asdict(letter).items() if name != "trace"]
        sys.stdout.write("\n".join([*lines, letter.trace, ""]))
    return 0


def replay(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("dead-letters replay", arguments, ReplayOptions)

    from layoutray.cli.shared.progress import ProgressDisplay  # these import Ray
    from layoutray.cluster import replay as replays
    from layoutray.cluster.connect import connect

    letters = chosen.select()
    if not letters:
        terminal.say(f"{chosen.folder} has no such dead letters")
        return 0
    folder = sources.absolute(chosen.folder)
    Manifest.read(folder)  # before Ray starts
    with working_on(folder), ProgressDisplay() as progress, connect(gpus=0):
        manifest = replays.replay(folder, letters, chosen.overrides, workers=chosen.workers, progress=progress)
    ingest_summary.show(manifest, chosen.folder)
    remaining = {(letter.source, letter.page) for letter in DataSet(chosen.folder).read_dead_letters()}
    cleared = sum((letter.source, letter.page) not in remaining for letter in letters)
    terminal.say(f"{cleared} of {len(letters)} dead letters are cleared")
    return 0
