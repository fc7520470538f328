"""`layoutray synthesize`: generate receipts, invoices and forms with known fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli import options, terminal
from layoutray.readers.synthetic_render import bill, itemised_bill, render_set


@dataclass(frozen=True, kw_only=True)
class SynthesizeOptions:
    """Options of `layoutray synthesize`.

    Attributes:
        line_items: whether the pages are receipts and invoices with line items.
    """

    out: Path
    count: int
    seed: int
    line_items: bool


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("synthesize")
    parser.add_argument("out", type=Path, help="folder for the pages and their annotations")
    parser.add_argument("--count", type=int, default=200, help="number of pages (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=7, help="seed; the same seed gives the same pages (default: %(default)s)"
    )
    parser.add_argument(
        "--line-items",
        action="store_true",
        help="draw receipts and invoices whose line items are records of entities: name, count, prices and discount",
    )
    chosen = options.parse(parser, arguments, SynthesizeOptions)
    render_set(chosen.out, chosen.count, chosen.seed, itemised_bill if chosen.line_items else bill)
    terminal.say(f"{chosen.count} pages written to {chosen.out}")
    return 0
