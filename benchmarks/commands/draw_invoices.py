"""Draw invoices of several pages, as `layoutray synthesize` draws other documents."""

import argparse
from collections.abc import Sequence

from benchmarks.measure.drawn_invoices import long_invoice
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive
from layoutray.synthetic.render import render_set


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks draw-invoices", description=__doc__)
    parser.add_argument("out", help="folder for pictures and annotations")
    parser.add_argument("--count", type=positive, default=200, help="of invoices (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same pages (default: %(default)s)")
    options = parser.parse_args(arguments)
    render_set(options.out, options.count, options.seed, long_invoice)
    terminal.say(f"{options.count} invoices written to {options.out}")
    return 0
