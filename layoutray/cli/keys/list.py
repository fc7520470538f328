"""`layoutray keys list`: a line of JSON for each key on stdout, also for revoked ones."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from layoutray.cli.shared import options
from layoutray.cli.shared.key_file import KeyFile, add_key_file
from layoutray.serving.access.keys import Key


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("keys list")
    add_key_file(parser)
    with options.parse(parser, arguments, KeyFile).opened() as store:
        for key in store.list():
            sys.stdout.write(json.dumps(_shown(key)) + "\n")
    return 0


def _shown(key: Key) -> Mapping[str, object]:
    return asdict(key) | {"created": _time(key.created), "revoked": key.revoked and _time(key.revoked)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
