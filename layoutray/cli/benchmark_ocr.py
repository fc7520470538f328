"""Word recall and precision of OCR settings on pages with known words: annotated pictures, or your own PDF files."""

from collections.abc import Sequence

from layoutray.cli.shared import checked, options, terminal
from layoutray.errors import InputError
from layoutray.evaluation.ocr_settings import HEADING, annotated_pictures, born_digital_pages, score_settings, variant
from layoutray.ocr.settings import PROFILES


def main(arguments: Sequence[str]) -> int:
    parser = options.parser("benchmark ocr", {})
    parser.add_argument(
        "reader",
        help="`folder` for PDF files with a text layer, which is compared with OCR of their first pages; "
        "or the reader of a data set with pictures and words, e.g. sroie, funsd, cord",
    )
    parser.add_argument("root", help="folder of the files or of the data set")
    parser.add_argument("--split", default="", help="split of the data set: train, dev or test (default: all)")
    parser.add_argument(
        "--limit",
        type=checked.positive,
        default=50,
        help="maximum number of documents, spread evenly (default: 50)",
    )
    parser.add_argument(
        "--variant",
        action="append",
        metavar="KEY=VALUE...",
        help="settings to measure: keys of the recipe section `recognition`, separated by spaces, for example "
        "'engine=tesserocr tesserocr.psm=4'; repeatable (default: both profiles)",
    )
    chosen = parser.parse_args(arguments)
    if chosen.reader == "folder":
        pages = born_digital_pages(chosen.root, chosen.limit)
        missing = "PDF file whose first page has a usable text layer"
    else:
        pages = annotated_pictures(chosen.reader, chosen.root, chosen.split, chosen.limit)
        missing = f"pictures with words in split {chosen.split!r}"
    if not pages:
        raise InputError(f"{chosen.root} has no {missing}")
    settings = {name: variant(name) for name in chosen.variant or [f"profile={profile}" for profile in PROFILES]}
    name = f"{chosen.reader} {chosen.split}".strip()
    rows = [score.cells() for score in score_settings(name, pages, settings)]
    terminal.show_table("Words recognised, shares of 1", HEADING, rows)
    return 0
