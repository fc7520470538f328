"""`layoutray synthesize`: generate receipts, invoices, letters and forms with known fields."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError
from layoutray.store import sources
from layoutray.store.output_lock import working_on
from layoutray.synthetic.forms import form
from layoutray.synthetic.render import Draw, bill, itemised_bill, render_set

PAGES: Mapping[str, Draw] = {
    "bills": bill,
    "items": itemised_bill,
    "forms": form,
}


_OPTIONS = {
    "out": option(help="folder or s3:// address for the pages and their annotations"),
    "count": option("--count", type=checked.positive, help="number of documents (default: %(default)s)"),
    "seed": option(
        "--seed", type=checked.whole, help="seed; the same seed gives the same pages (default: %(default)s)"
    ),
    "pages": option(
        "--pages",
        choices=PAGES,
        help="bills: receipts, invoices, letters and forms with fields; items: receipts and invoices whose line "
        "items are records of entities; forms: forms whose entities are questions, answers and headers (default: "
        "%(default)s)",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    synthesize(**options.parse_for("synthesize", _OPTIONS, arguments, synthesize))
    return 0


def synthesize(out: str | Path, *, count: int = 200, seed: int = 7, pages: str = "bills") -> None:
    """Draw receipts, invoices, letters and forms with known values.

    Args:
        out: folder or s3:// address for the pages and their annotations.
        count: number of documents.
        seed: the same seed gives the same pages.
        pages: `bills`, `items` or `forms`.

    Raises:
        InputError: if there is no such kind of pages.
    """
    if pages not in PAGES:
        raise InputError(f"pages is {pages!r}; allowed: {', '.join(PAGES)}")
    with working_on(sources.absolute(str(out))):
        render_set(out, count, seed, PAGES[pages])
    terminal.say(f"{count} documents written to {out}")
