"""`layoutray sweep`: train a recipe with several values of one key, and pick the value that is best on dev."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options
from layoutray.cli.shared.options import option
from layoutray.cli.shared.trial_options import TrialJobOptions


@dataclass(frozen=True, kw_only=True)
class SweepOptions(TrialJobOptions):
    """Options of `layoutray sweep`."""

    register: str = options.register()
    over: Sequence[str] = option(
        "--over",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        help="recipe key, given by its dotted path, and the values to try",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("sweep", arguments, SweepOptions)
    from layoutray.cli.work import sweep

    return sweep.run(chosen)
