"""Draw what papers show: attention over a page, what is kept of it, the graph of its words, curves, reliability."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    return terminal.run_named("picture", arguments)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
