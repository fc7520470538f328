"""Time and memory of a training step over length, from a JSON file of rows with model, length, seconds and bytes."""

import argparse
from collections.abc import Sequence

from layoutray.report import png, scaling
from layoutray.store import sources
from pipelines import _terminal as terminal


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture scaling", description=__doc__)
    parser.add_argument(
        "measured", metavar="FILE.json", help='[{"model": …, "length": tokens, "seconds": per step, "bytes": peak}, …]'
    )
    terminal.add_picture_option(parser, "scaling.png")
    options = parser.parse_args(arguments)
    return terminal.show_picture(
        png.png(scaling.scaling(scaling.parse(sources.read_bytes(options.measured)))), options.out
    )
