"""Generate receipts, invoices and forms with known fields, for trials without your own data."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutray.readers.synthetic_render import render_set
from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray synthesize", description=__doc__)
    parser.add_argument("out", help="folder for the pages and their annotations")
    parser.add_argument("--count", type=int, default=200, help="number of pages (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=7, help="seed; the same seed gives the same pages (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    render_set(Path(options.out), options.count, options.seed)
    terminal.say(f"{options.count} pages written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(main))
