"""`layoutray rollback`: make the former champion of a registered model its champion again."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.tracking import registered
from layoutray.tracking.registered import CHAMPION


@dataclass(frozen=True, kw_only=True)
class RollbackOptions:
    """Options of `layoutray rollback`.

    Attributes:
        tracking_uri: of MLflow.
    """

    name: str
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("rollback")
    parser.add_argument("name", help="registered model, without models:/ and alias")
    options.add_tracking_uri(parser)
    chosen = options.parse(parser, arguments, RollbackOptions)
    present, former = registered.rollback(chosen.name, chosen.tracking_uri)
    terminal.say(f"models:/{chosen.name}@{CHAMPION} is again version {former}, no longer version {present}")
    return 0
