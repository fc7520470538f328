"""Train a model from scratch on unlabelled pages."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal
from pipelines import _training as training


def main(arguments: Sequence[str] | None = None) -> int:
    parser = training.parser("pretrain", __doc__)
    training.add_worker_option(parser)
    return training.run(parser.parse_args(arguments), init=())


if __name__ == "__main__":
    sys.exit(terminal.run(main))
