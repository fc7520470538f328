"""`layoutray rollback`: make the former champion of a registered model its champion again."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option


@dataclass(frozen=True, kw_only=True)
class RollbackOptions:
    """Options of `layoutray rollback`."""

    name: str = option(help="registered model, without models:/ and alias")
    tracking_uri: str = options.tracking_uri()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("rollback", arguments, RollbackOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray.tracking import registered
    from layoutray.tracking.registered import CHAMPION

    present, former = registered.rollback(chosen.name, chosen.tracking_uri)
    terminal.say(f"models:/{chosen.name}@{CHAMPION} is again version {former}, no longer version {present}")
    return 0
