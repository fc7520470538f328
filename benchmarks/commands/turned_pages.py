"""Word recall on copies of annotated pages that are turned by 90, 180 and 270 degrees or skewed by 2 and 5."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from benchmarks.measure.turned_pages import COPIES, CopyScore, score_copies
from layoutray.cli.shared import terminal
from layoutray.errors import InputError
from layoutray.evaluation.ocr_settings import annotated_pictures, variant


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks turned-pages", description=__doc__)
    parser.add_argument("reader", help="reader of an annotated data set with pictures, e.g. sroie")
    parser.add_argument("root", help="folder of the data set")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=20, help="most documents, spread evenly over the split")
    parser.add_argument("--copies", nargs="+", choices=COPIES, default=list(COPIES))
    parser.add_argument("--profile", default="accurate", choices=("fast", "accurate"))
    options = parser.parse_args(arguments)
    pages = annotated_pictures(options.reader, options.root, options.split, options.limit)
    if not pages:
        raise InputError(f"{options.root} has no page with a picture and words in split {options.split!r}")
    settings = variant(f"profile={options.profile}")
    scores: list[CopyScore] = []
    for number, page in enumerate(pages):
        scores += score_copies(number, page, settings, options.copies)
        terminal.say(f"{number + 1} of {len(pages)} pages")
    rows = [_row(name, scores, options.copies[0]) for name in options.copies]
    title = f"{options.reader}, {len(pages)} pages, profile {options.profile}"
    terminal.show_table(title, ("copy", "recall", "precision", "largest loss of a page", "directions read"), rows)
    sys.stdout.write(json.dumps([asdict(score) for score in scores]) + "\n")
    return 0


def _row(name: str, scores: Sequence[CopyScore], first: str) -> tuple[str, str, str, str, str]:
    own, others = ([score for score in scores if score.copy == copy] for copy in (name, first))
    recall, precision = np.nanmean([(one.recall, one.precision) for one in own], axis=0)
    loss = max(other.recall - one.recall for one, other in zip(own, others, strict=True))
    degrees = [one.degrees for one in own]
    directions = ", ".join(f"{degrees.count(turn)} x {turn}" for turn in sorted(set(degrees)))
    return name, f"{recall:.3f}", f"{precision:.3f}", f"{loss:.3f}", directions
