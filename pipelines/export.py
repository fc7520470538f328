"""Hand pages to another program to work on: `layoutray export NAME …`."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    return terminal.run_named("export", arguments)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
