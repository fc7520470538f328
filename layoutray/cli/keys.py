"""`layoutray keys NAME`: create, list and revoke the keys of the endpoint."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.serving.access.keys import SCOPES, KeyStore, Scope


@dataclass(frozen=True, kw_only=True)
class KeyFile:
    """The option that names the key file."""

    keys: str = option(
        "--keys",
        type=checked.local_file,
        metavar="FILE",
        default="keys.db",
        help="key file, given also to `layoutray serve` (default: %(default)s)",
    )


@dataclass(frozen=True, kw_only=True)
class CreateOptions(KeyFile):
    """Options of `layoutray keys create`. See `Key`."""

    name: str = option(help="whose key it is, for the audit log; a name is never used twice")
    scope: Sequence[Scope] = option(
        "--scope",
        action="append",
        required=True,
        choices=SCOPES,
        help="what the key may do; repeatable; admin includes all others",
    )
    pages_per_day: int | None = option(
        "--pages-per-day",
        type=checked.positive,
        metavar="N",
        help="most pages in one day, in UTC (default: no limit)",
    )
    per_minute: int | None = option(
        "--per-minute", type=checked.positive, metavar="N", help="most requests per minute (default: no limit)"
    )
    team: str = option(
        "--team",
        default="",
        help="keys of one team share the documents of the review page (default: the key shares them with none)",
    )


@dataclass(frozen=True, kw_only=True)
class RevokeOptions(KeyFile):
    """Options of `layoutray keys revoke`."""

    name: str = option(help="name of the key")


def create(arguments: Sequence[str] | None = None) -> int:
    """Write a new key to stdout. It is stored as a hash and cannot be shown again."""
    chosen = options.given("keys create", arguments, CreateOptions)
    with closing(KeyStore.open(chosen.keys, create=True)) as store:
        scopes = sorted(set(chosen.scope))
        text = store.create(chosen.name, scopes, chosen.pages_per_day, chosen.per_minute, chosen.team)
    sys.stdout.write(f"{text}\n")
    terminal.say("this is the only time that the key is shown; clients send it as `Authorization: Bearer KEY`")
    return 0


def list_keys(arguments: Sequence[str] | None = None) -> int:
    """Write a line of JSON for each key to stdout, also for revoked ones."""

    def time(seconds: float) -> str:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

    chosen = options.given("keys list", arguments, KeyFile)
    with closing(KeyStore.open(chosen.keys)) as store:
        for key in store.list():
            shown = asdict(key) | {"created": time(key.created), "revoked": key.revoked and time(key.revoked)}
            sys.stdout.write(json.dumps(shown) + "\n")
    return 0


def revoke(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("keys revoke", arguments, RevokeOptions)
    with closing(KeyStore.open(chosen.keys)) as store:
        store.revoke(chosen.name)
    terminal.say(f"key {chosen.name} is revoked")
    return 0
