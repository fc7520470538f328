"""`layoutray keys create`: a new key, on stdout. It is stored as a hash and cannot be shown again."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.key_file import KeyFile, add_key_file
from layoutray.serving.access.keys import SCOPES, Scope


@dataclass(frozen=True, kw_only=True)
class CreateOptions(KeyFile):
    """Options of `layoutray keys create`. See `Key`."""

    name: str
    scope: Sequence[Scope]
    pages_per_day: int | None
    per_minute: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("keys create")
    parser.add_argument("name", help="whose key it is, for the audit log; a name is never used twice")
    parser.add_argument(
        "--scope",
        action="append",
        required=True,
        choices=SCOPES,
        help="what the key may do; repeatable; admin includes all others",
    )
    parser.add_argument(
        "--pages-per-day", type=options.positive, metavar="N", help="most pages in one day, in UTC (default: no limit)"
    )
    parser.add_argument(
        "--per-minute", type=options.positive, metavar="N", help="most requests per minute (default: no limit)"
    )
    add_key_file(parser)
    chosen = options.parse(parser, arguments, CreateOptions)
    with chosen.opened(create=True) as store:
        text = store.create(chosen.name, sorted(set(chosen.scope)), chosen.pages_per_day, chosen.per_minute)
    sys.stdout.write(f"{text}\n")
    terminal.say("this is the only time that the key is shown; clients send it as `Authorization: Bearer KEY`")
    return 0
