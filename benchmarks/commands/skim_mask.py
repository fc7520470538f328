"""SkimmingMask with gathered keys relative to the dense matrix: computed scores and time, by k and block, on pages."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure.skim_mask import measure_saving
from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.cli.shared import terminal
from layoutray.errors import InputError
from layoutray.evaluation.examples import encode_pages
from layoutray.evaluation.page_selection import PageSelection


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks skim-mask", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of a skimming_mask checkpoint")
    parser.add_argument("pages", nargs="+", help="folders that `layoutray ingest` has written")
    parser.add_argument("--split", default="train", choices=("train", "dev", "test"))
    parser.add_argument("--windows", type=int, default=8, help="number of windows of the batch; the longest are taken")
    parser.add_argument("--length", type=int, default=0, help="tokens per window (default: as in training)")
    parser.add_argument(
        "--top-k", type=int, nargs="+", default=[16, 64, 128], help="keys that the mask leaves for each query"
    )
    parser.add_argument(
        "--blocks", type=int, nargs="+", default=[16, 64], help="numbers of queries that share a list of keys"
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    loaded = checkpoint.load(options.checkpoint)
    examples = encode_pages(loaded, PageSelection(tuple(options.pages), options.split), options.length).examples
    longest = sorted(examples, key=lambda one: len(one.input_ids), reverse=True)
    if len(longest) < options.windows:
        raise InputError(
            f"split {options.split} has {len(longest)} windows, which is fewer than --windows {options.windows}"
        )
    batch = collate(longest[: options.windows], loaded.tokenizer.pad_id)
    savings = [
        measure_saving(loaded, batch, top_k, block, options.rounds)
        for top_k in options.top_k
        for block in options.blocks
    ]
    rows = [(one.top_k, one.block, one.scores, one.inference, one.training, f"{one.difference:.1e}") for one in savings]
    columns = ("k", "block", "share of scores", "speed, inference", "speed, training", "maximum difference")
    terminal.show_table(
        f"Gathered relative to dense, {options.windows} windows of {batch.input_ids.shape[1]} tokens", columns, rows
    )
    sys.stdout.write(json.dumps([asdict(one) for one in savings]) + "\n")
    return 0
