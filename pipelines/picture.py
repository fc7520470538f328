"""Draw what papers show: attention over a page, the graph of its words, metrics over steps, time and memory over length, reliability."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    return terminal.run_named("picture", arguments)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
