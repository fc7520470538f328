"""SkimmingMask on gathered keys beside the dense matrix: scores computed, and time, by k and block, on real pages."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow.compute as pc

from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.bench.skim_mask import measure
from layoutray.cli import terminal
from layoutray.cli.evaluate import encoded
from layoutray.errors import InputError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark skim-mask", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of a skimming_mask checkpoint")
    parser.add_argument("pages", nargs="+", help="folders that `layoutray ingest` has written")
    parser.add_argument("--split", default="train", choices=("train", "dev", "test"))
    parser.add_argument("--windows", type=int, default=8, help="so many of the longest windows, all at once")
    parser.add_argument("--length", type=int, default=0, help="tokens per window (default: as trained)")
    parser.add_argument("--top-k", type=int, nargs="+", default=[16, 64, 128])
    parser.add_argument("--blocks", type=int, nargs="+", default=[16, 64], help="queries that share a list of keys")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    loaded = checkpoint.load(options.checkpoint)
    examples, _ = encoded(
        loaded, options.pages, pc.field("split") == options.split, options.length or loaded.recipe.max_length
    )
    longest = sorted(
        (examples[number] for number in range(len(examples))), key=lambda one: len(one.input_ids), reverse=True
    )
    if len(longest) < options.windows:
        raise InputError(f"split {options.split} has {len(longest)} windows, --windows asks for {options.windows}")
    batch = collate(longest[: options.windows], loaded.tokenizer.pad_id)
    found = [
        measure(loaded, batch, top_k, block, options.rounds) for top_k in options.top_k for block in options.blocks
    ]
    rows = [(one.top_k, one.block, one.scores, one.inference, one.training, f"{one.difference:.1e}") for one in found]
    columns = ("k", "block", "scores computed", "times as fast, inference", "training", "largest difference")
    terminal.show_table(
        f"Gathered over dense, {options.windows} windows of {batch.input_ids.shape[1]} tokens", columns, rows
    )
    sys.stdout.write(json.dumps([asdict(one) for one in found]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
