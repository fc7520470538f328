"""Word recall and precision of OCR settings on real pages whose words are known."""

import argparse
import sys
from collections.abc import Sequence

from layoutray.bench.ocr_settings import HEADING, annotated_pictures, measure, variants
from layoutray.cli import terminal
from layoutray.errors import InputError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark ocr", description=__doc__)
    parser.add_argument("reader", help="data set with pictures and words, e.g. sroie, funsd, docbank")
    parser.add_argument("root", help="its folder")
    parser.add_argument("--split", default="", help="train, dev or test (default: all)")
    parser.add_argument("--limit", type=int, default=50, help="at most so many pages, spread evenly")
    parser.add_argument(
        "--variant", action="append", choices=sorted(variants()), help="only these; repeatable (default: all)"
    )
    options = parser.parse_args(arguments)
    samples = annotated_pictures(options.reader, options.root, options.split, options.limit)
    if not samples:
        raise InputError(f"{options.root} has no pictures with words in split {options.split!r}")
    chosen = {name: settings for name, settings in variants().items() if not options.variant or name in options.variant}
    rows = [row.cells() for row in measure(f"{options.reader} {options.split}", samples, chosen)]
    terminal.show_table("Words found, in shares", HEADING, rows)
    return 0


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
