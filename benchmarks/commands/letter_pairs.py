"""The table of pairs of letters by which text layers are judged, and what it refuses, from the package `wordfreq`."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure import letter_pairs
from layoutray.cli.shared import terminal
from layoutray.errors import InputError
from layoutray.ocr.plausible import PAIRS


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks letter-pairs", description=__doc__)
    parser.add_argument("--samples", type=int, default=200, help="samples of each language (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the samples (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.samples < 1:
        raise InputError(f"--samples is {options.samples}; it must be at least 1")
    made = letter_pairs.table()
    rows = letter_pairs.refused(options.samples, options.seed)
    columns = ("samples", "judged", "refused", "share", "least mean", "median mean")
    cells = [(one.kind, one.judged, one.refused, one.refused / one.judged, one.least, one.median) for one in rows]
    terminal.show_table(f"Samples of words of {len(letter_pairs.LANGUAGES)} languages", columns, cells)
    differing = int((made != PAIRS).sum())
    terminal.say(
        "The package has this table." if not differing else f"{differing} numbers of the package's table differ."
    )
    report = {"table": letter_pairs.as_text(made).split("\n"), "differing": differing, "samples": [*map(asdict, rows)]}
    terminal.show_report(report, None)
    return 1 if differing else 0
