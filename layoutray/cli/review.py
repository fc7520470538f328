"""`layoutray review`: the page on which people see and correct the answers in a folder, on this machine."""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.options import option


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """Options of `layoutray review`."""

    answers: Path = option(
        type=checked.local_folder,
        help="local folder written by `layoutray predict`, which gets review.db; or `disagreements` of `layoutray "
        "train`",
    )
    pages: str | None = option(
        "--pages", metavar="FOLDER", help="pages that were answered, if `predict` did not read them from files itself"
    )
    order: str = option(
        "--order",
        metavar="FILE",
        default="",
        help="review.csv of `layoutray select`, or the file of `layoutray drift`: its documents come first",
    )
    reviewer: str = option(
        "--reviewer", default=getpass.getuser, help="your name, for the history (default: %(default)s)"
    )
    sample: float = option(
        "--sample",
        type=checked.share,
        default=0.05,
        help="share of the accepted values to show anyway, to measure their precision (default: %(default)s)",
    )
    port: int = option("--port", type=checked.port, default=8010, help="port to listen on (default: %(default)s)")
    open: bool = option("--open", action="store_true", help="open the page in the browser")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("review", arguments, ReviewOptions)
    from layoutray.cli.work import review

    return review.run(chosen)
