"""Successive Halving Top-k beside hard top-k and the iterative relaxation: time forward and backward, and nearness to the exact top-k."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from layoutray.bench.pooling import METHODS, Case, Measured, measure
from layoutray.cli import terminal


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark pooling", description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048], help="n, per document")
    parser.add_argument("--keep", type=int, nargs="+", default=[512], help="k; n/k has to be a power of two")
    parser.add_argument("--width", type=int, default=512, help="of the states")
    parser.add_argument("--batch", type=int, default=2, help="documents at once")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        help="the iterative one takes seconds per document",
    )
    parser.add_argument("--rounds", type=int, default=5, help="in each, all methods are measured one after the other")
    options = parser.parse_args(arguments)
    cases = [Case(tokens, keep, options.width, options.batch) for tokens in options.tokens for keep in options.keep]
    found = [(case, one) for case in cases for one in measure(case, options.methods, options.rounds)]
    terminal.show_table(
        f"Forward and backward, {options.batch} documents of width {options.width}, {options.rounds} rounds",
        ("n", "k", "method", "milliseconds", "× successive halving", "nCCS"),
        [
            (case.tokens, case.keep, one.method, f"{1000 * one.seconds:.1f}", _over_ours(case, one, found), one.nccs)
            for case, one in found
        ],
    )
    sys.stdout.write(json.dumps([asdict(case) | asdict(one) for case, one in found]) + "\n")
    return 0


def _over_ours(case: Case, one: Measured, found: Sequence[tuple[Case, Measured]]) -> str:
    """Times the seconds of successive halving in the same case."""
    ours = [other.seconds for same, other in found if same == case and other.method == "successive halving"]
    return f"{one.seconds / ours[0]:.2f}" if ours else "-"


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
