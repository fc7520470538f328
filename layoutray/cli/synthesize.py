"""`layoutray synthesize`: generate receipts, invoices and forms with known fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.synthetic.forms import form
from layoutray.synthetic.render import Draw, bill, itemised_bill, render_set

PAGES: Mapping[str, Draw] = {"bills": bill, "items": itemised_bill, "forms": form}


@dataclass(frozen=True, kw_only=True)
class SynthesizeOptions:
    """Options of `layoutray synthesize`.

    Attributes:
        pages: kind of pages, of `PAGES`.
    """

    out: str
    count: int
    seed: int
    pages: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("synthesize")
    parser.add_argument("out", help="folder or s3:// address for the pages and their annotations")
    parser.add_argument("--count", type=int, default=200, help="number of pages (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=7, help="seed; the same seed gives the same pages (default: %(default)s)"
    )
    parser.add_argument(
        "--pages",
        choices=PAGES,
        default="bills",
        help="bills: receipts, invoices and forms with fields; items: receipts and invoices whose line items are "
        "records of entities; forms: forms whose entities are questions, answers and headers (default: %(default)s)",
    )
    chosen = options.parse(parser, arguments, SynthesizeOptions)
    render_set(chosen.out, chosen.count, chosen.seed, PAGES[chosen.pages])
    terminal.say(f"{chosen.count} pages written to {chosen.out}")
    return 0
