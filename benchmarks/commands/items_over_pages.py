"""Line items of invoices of several pages: record F1 by number of pages, and how often sums and wrong amounts show."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure.items_over_pages import MeasuredInvoice, measured_invoices
from layoutray.cli.shared import terminal
from layoutray.inference.extractor import Extractor
from layoutray.metrics.record_f1 import record_f1
from layoutray.store.data_set import DataSet

_FIRST = (1, 2, 4, 7)
"""Least number of pages of each group of invoices."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks items-over-pages", description=__doc__)
    parser.add_argument("checkpoint", help="a model whose records name their amounts")
    parser.add_argument("pages", help="drawn invoices as `layoutray ingest` has written them")
    parser.add_argument("--split", nargs="+", default=["test"])
    parser.add_argument("--seed", type=int, default=1, help="of the digits that are changed (default: %(default)s)")
    options = parser.parse_args(arguments)
    pages = [page for page in DataSet(options.pages).read_pages() if page.split in options.split]
    groups: dict[int, list[MeasuredInvoice]] = defaultdict(list)
    for one in measured_invoices(Extractor.load(options.checkpoint), pages, options.seed):
        groups[max(first for first in _FIRST if first <= one.pages)].append(one)
    rows = [_row(f"{first} and more", groups[first]) for first in sorted(groups)]
    everything = [one for of_group in groups.values() for one in of_group]
    rows.append(_row("all", everything))
    columns = ("pages", "invoices", "record F1", "items right", "of them said to add up", "a wrong amount is noticed")
    terminal.show_table(f"Line items of {options.pages}, {', '.join(options.split)}", columns, rows)
    sys.stdout.write(json.dumps([asdict(one) for one in everything]) + "\n")
    return 0


def _row(name: str, found: Sequence[MeasuredInvoice]) -> tuple[str, int, str, int, str, str]:
    right = [one for one in found if one.right]
    f1 = record_f1([one.expected for one in found], [one.answered for one in found]).f1
    added, noticed = (sum(getattr(one, key) for one in right) for key in ("adds_up", "wrong_noticed"))
    share = f"{100 * noticed / len(right):.1f} %" if right else "-"
    return name, len(found), "-" if f1 is None else f"{100 * f1:.1f}", len(right), f"{added} of {len(right)}", share
