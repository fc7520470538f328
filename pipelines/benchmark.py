"""Measure ingest, training, serving or OCR settings on this machine with your pages: `layoutray benchmark NAME …`."""

import sys
from collections.abc import Sequence

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    return terminal.run_named("benchmark", arguments)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
