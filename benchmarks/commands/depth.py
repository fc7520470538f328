"""Seconds of training and of generation by number of encoder layers: blockwise attention and DeepPyramidion."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields

from benchmarks.figures.depth import draw_depth
from benchmarks.measure.complexity import ORDERS
from benchmarks.measure.depth import DepthSizes, DepthTiming, measure_depth
from benchmarks.mlflow_log import log
from benchmarks.options import png_file
from layoutray.cli.shared import terminal
from layoutray.errors import InputError
from layoutray.report import png


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks depth", description=__doc__)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 8, 16], help="numbers of encoder layers")
    parser.add_argument("--encoders", nargs="+", choices=ORDERS, default=["blockwise", "deep_pyramidion"])
    parser.add_argument("--width", type=int, default=256, help="width of the states")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=2048, help="tokens of each text")
    parser.add_argument("--block", type=int, default=512, help="tokens of a block of attention")
    parser.add_argument("--written", type=int, default=64, help="generated words of each text")
    parser.add_argument("--batch", type=int, default=2, help="texts per batch")
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3, help="each round measures all encoders one after the other")
    parser.add_argument("--out", type=png_file, metavar="FILE.png", help="also write the figure to this file")
    options = parser.parse_args(arguments)
    sizes = DepthSizes(**{field.name: getattr(options, field.name) for field in fields(DepthSizes)})
    if min(*options.depths, *asdict(sizes).values(), options.rounds) < 1 or sizes.written > sizes.length:
        raise InputError(
            f"depths {options.depths}, rounds {options.rounds} and {sizes}: "
            "all must be at least 1, and written at most length"
        )
    timings = [one for depth in options.depths for one in measure_depth(sizes, options.encoders, depth, options.rounds)]
    _show(timings, options.encoders)
    rows = [asdict(one) for one in timings]
    sys.stdout.write(json.dumps(rows) + "\n")
    points = {
        name: [(one.depth, one.training, one.generation) for one in timings if one.encoder == name]
        for name in options.encoders
    }
    picture = png.png(draw_depth(points))
    log("depth", {name: str(value) for name, value in vars(options).items()}, rows, {"depth": picture})
    if options.out:
        options.out.write_bytes(picture)
    return 0


def _show(timings: Sequence[DepthTiming], encoders: Sequence[str]) -> None:
    first = {one.depth: one for one in timings if one.encoder == encoders[0]}
    terminal.show_table(
        f"Time by number of encoder layers, speed relative to {encoders[0]}",
        ("layers", "encoder", "training, ms", "speed", "generation, ms", "speed"),
        [
            (
                one.depth,
                one.encoder,
                f"{1000 * one.training:.0f}",
                f"{first[one.depth].training / one.training:.2f}",
                f"{1000 * one.generation:.0f}",
                f"{first[one.depth].generation / one.generation:.2f}",
            )
            for one in timings
        ],
    )
