"""`layoutray picture scaling`: time and memory of a training step over sequence length, from a JSON file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli import options, terminal
from layoutray.report import png, scaling
from layoutray.store import sources


@dataclass(frozen=True, kw_only=True)
class ScalingOptions:
    """Options of `layoutray picture scaling`."""

    measured: str
    out: Path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("picture scaling")
    parser.add_argument(
        "measured",
        metavar="FILE.json",
        help='[{"model": …, "length": tokens, "seconds": per step, "bytes": peak memory}, …]',
    )
    options.add_picture_file(parser, "scaling.png")
    chosen = options.parse(parser, arguments, ScalingOptions)
    rows = scaling.parse(sources.read_bytes(chosen.measured))
    return terminal.show_picture(png.png(scaling.scaling(rows)), chosen.out)
