"""Seconds of training and of generation by depth: blockwise attention alone, beside DeepPyramidion."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from layoutray.bench.complexity import ORDERS
from layoutray.bench.depth import Measured, Sizes, measure
from layoutray.cli import terminal
from layoutray.errors import InputError
from layoutray.report import png
from layoutray.report.depth import depth as picture_of
from pipelines._report import log


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark depth", description=__doc__)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 8, 16], help="encoder layers")
    parser.add_argument("--encoders", nargs="+", choices=ORDERS, default=["blockwise", "deep_pyramidion"])
    parser.add_argument("--width", type=int, default=256, help="of the states")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=2048, help="tokens of each text")
    parser.add_argument("--block", type=int, default=512, help="tokens that attend to each other")
    parser.add_argument("--written", type=int, default=64, help="words written")
    parser.add_argument("--batch", type=int, default=2, help="texts at once")
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3, help="in each, all encoders are measured one after the other")
    parser.add_argument("--out", type=Path, metavar="FILE.png", help="also write the picture to this file")
    options = parser.parse_args(arguments)
    sizes = Sizes(**{field.name: getattr(options, field.name) for field in fields(Sizes)})
    if min(*options.depths, *asdict(sizes).values(), options.rounds) < 1 or sizes.written > sizes.length:
        raise InputError(
            f"depths {options.depths}, rounds {options.rounds} and {sizes} must be at least 1, and written at most length"
        )
    found = [one for depth in options.depths for one in measure(sizes, options.encoders, depth, options.rounds)]
    _show(found, options.encoders)
    rows = [asdict(one) for one in found]
    sys.stdout.write(json.dumps(rows) + "\n")
    points = {
        name: [(one.depth, one.training, one.generation) for one in found if one.encoder == name]
        for name in options.encoders
    }
    picture = png.png(picture_of(points))
    log("depth", {name: str(value) for name, value in vars(options).items()}, rows, {"depth": picture})
    if options.out:
        options.out.write_bytes(picture)
    return 0


def _show(found: Sequence[Measured], encoders: Sequence[str]) -> None:
    first = {one.depth: one for one in found if one.encoder == encoders[0]}
    terminal.show_table(
        f"By depth, times as fast as {encoders[0]}",
        ("layers", "encoder", "training, ms", "times as fast", "generation, ms", "times as fast"),
        [
            (
                one.depth,
                one.encoder,
                f"{1000 * one.training:.0f}",
                f"{first[one.depth].training / one.training:.2f}",
                f"{1000 * one.generation:.0f}",
                f"{first[one.depth].generation / one.generation:.2f}",
            )
            for one in found
        ],
    )


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
