"""`layoutray keys revoke`: the endpoint refuses the key from the next request on."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.key_file import KeyFile, add_key_file


@dataclass(frozen=True, kw_only=True)
class RevokeOptions(KeyFile):
    """Options of `layoutray keys revoke`."""

    name: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("keys revoke")
    parser.add_argument("name", help="name of the key")
    add_key_file(parser)
    chosen = options.parse(parser, arguments, RevokeOptions)
    with chosen.opened() as store:
        store.revoke(chosen.name)
    terminal.say(f"key {chosen.name} is revoked")
    return 0
