"""`layoutray demo`: from pages that the start has never seen, by ten labels, to a model that is served."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.options import option


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of `layoutray demo`."""

    out: Path = option(
        "--out",
        default="runs/demo",
        type=checked.local_folder,
        help="folder for all results: new, empty, or of a former demo, which is deleted (default: %(default)s)",
    )
    documents: Path | None = option(
        "--documents",
        type=checked.local_folder,
        help="folder of your own documents with the values of some of them in values.csv; the others are answered "
        "(default: drawn documents)",
    )
    count: int = option(
        "--count", default=10, type=checked.positive, help="labelled documents to draw (default: %(default)s)"
    )
    unseen: int = option(
        "--unseen", default=8, type=checked.positive, help="further documents to draw (default: %(default)s)"
    )
    seed: int = option(
        "--seed", default=7, type=checked.whole, help="seed of the drawn documents (default: %(default)s)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("demo", arguments, DemoOptions)
    from layoutray.cli.work import demo

    demo.run(demo.Demo(**vars(chosen)))
    return 0
