"""`layoutray dead-letters show`: everything known about the dead letters of a document or page, with their traces."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from layoutray.cli.shared import options
from layoutray.cli.shared.dead_letter_filter import DeadLetterFilter, add_filter_options
from layoutray.errors import InputError
from layoutray.store.dead_letter import DeadLetter


@dataclass(frozen=True, kw_only=True)
class ShowOptions(DeadLetterFilter):
    """Options of `layoutray dead-letters show`.

    Attributes:
        which: start of a page id or document id, or end of a source.
    """

    which: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("dead-letters show")
    add_filter_options(parser)
    parser.add_argument(
        "which", help="page id, document id (its first characters suffice) or source (its end suffices)"
    )
    chosen = options.parse(parser, arguments, ShowOptions)
    letters = [letter for letter in chosen.select() if _matches(letter, chosen.which)]
    if not letters:
        raise InputError(
            f"{chosen.folder} has no dead letter of {chosen.which!r}; see `layoutray dead-letters list {chosen.folder}`"
        )
    for letter in letters:
        lines = [f"{name}: {value}" for name, value in asdict(letter).items() if name != "trace"]
        sys.stdout.write("\n".join([*lines, letter.trace, ""]))
    return 0


def _matches(letter: DeadLetter, which: str) -> bool:
    return letter.source.endswith(which) or letter.page_id.startswith(which) or letter.doc_id.startswith(which)
