"""Train a model for a task, usually from a pretrained checkpoint's encoder."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal
from pipelines import _training as training


def main(arguments: Sequence[str] | None = None) -> int:
    parser = training.parser("finetune", __doc__)
    parser.add_argument(
        "--init", default="", help="checkpoint, or models:/NAME@ALIAS, whose encoder it starts from; none starts from scratch"
    )
    options = parser.parse_args(arguments)
    return training.run(options, init=options.init)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
