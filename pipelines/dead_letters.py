"""Look at the pages and documents that could not be used, and try them again: list, show, replay."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    return terminal.run_named("dead_letters", arguments)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
