"""Successive Halving Top-k, hard top-k and the iterative relaxation: time, and similarity to the exact top-k."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure.pooling import METHODS, PoolingCase, PoolingResult, measure_pooling
from layoutray.cli.shared import terminal


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pooling", description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048], help="n, tokens of each document")
    parser.add_argument("--keep", type=int, nargs="+", default=[512], help="k, kept tokens; n/k must be a power of two")
    parser.add_argument("--width", type=int, default=512, help="width of the states")
    parser.add_argument("--batch", type=int, default=2, help="documents per batch")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        help="default: all; the iterative one takes seconds per document",
    )
    parser.add_argument("--rounds", type=int, default=5, help="each round measures all methods one after the other")
    options = parser.parse_args(arguments)
    cases = [
        PoolingCase(tokens, keep, options.width, options.batch) for tokens in options.tokens for keep in options.keep
    ]
    results = [(case, one) for case in cases for one in measure_pooling(case, options.methods, options.rounds)]
    terminal.show_table(
        f"Forward and backward, {options.batch} documents of width {options.width}, {options.rounds} rounds",
        ("n", "k", "method", "milliseconds", "× successive halving", "nCCS"),
        [
            (
                case.tokens,
                case.keep,
                one.method,
                f"{1000 * one.seconds:.1f}",
                _relative_time(case, one, results),
                one.nccs,
            )
            for case, one in results
        ],
    )
    sys.stdout.write(json.dumps([asdict(case) | asdict(one) for case, one in results]) + "\n")
    return 0


def _relative_time(
    case: PoolingCase, result: PoolingResult, results: Sequence[tuple[PoolingCase, PoolingResult]]
) -> str:
    """Seconds divided by those of successive halving in the same case."""
    ours = [other.seconds for same, other in results if same == case and other.method == "successive halving"]
    return f"{result.seconds / ours[0]:.2f}" if ours else "-"
