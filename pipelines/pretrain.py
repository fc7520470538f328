"""Train a model on unlabelled pages, from scratch or from the encoders of trained checkpoints."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal
from pipelines import _training as training


def main(arguments: Sequence[str] | None = None) -> int:
    parser = training.parser("pretrain", __doc__)
    training.add_worker_option(parser)
    training.add_init_option(parser)
    options = parser.parse_args(arguments)
    return training.run(options, init=options.init)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
