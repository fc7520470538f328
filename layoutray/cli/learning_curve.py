"""`layoutray learning-curve`: what a recipe reaches with fewer documents, and what more labels would bring."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.evaluation_options import SelectionOptions
from layoutray.cli.shared.options import option
from layoutray.cli.shared.trial_options import SeedOptions, TrialJobOptions

_ALL = 0
"""Number of documents that `all` means, as in the recipe key `train.documents`."""


def _size(text: str) -> int:
    return _ALL if text == "all" else checked.positive(text)


@dataclass(frozen=True, kw_only=True)
class LearningCurveOptions(SelectionOptions, SeedOptions, TrialJobOptions):
    """Options of `layoutray learning-curve`."""

    split: str = options.split("dev")
    documents: Sequence[int] = option(
        "--documents",
        nargs="+",
        type=_size,
        default=[5, 10, 20, 50, 100, _ALL],
        metavar="NUMBER",
        help="numbers of training documents, or `all` (default: 5 10 20 50 100 all)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("learning-curve", arguments, LearningCurveOptions)
    from layoutray.cli.work import learning_curve

    return learning_curve.run(chosen)
