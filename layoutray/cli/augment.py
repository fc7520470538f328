"""`layoutray augment`: copy annotated training pages with the errors of one's own OCR."""

from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.output_folder import new_folder
from layoutray.prepare.misread import learn_errors, write_misread
from layoutray.store import sources
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class AugmentOptions:
    """Options of `layoutray augment`.

    Attributes:
        annotated: folder of pages with annotated words.
        read: folder of the same pages, some or all, with words by OCR.
    """

    annotated: str
    read: str
    out: str
    seed: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("augment")
    parser.add_argument("annotated", help="folder written by `layoutray ingest` with words=annotation")
    parser.add_argument("read", help="folder of the same files, or some of them, ingested with words=ocr")
    parser.add_argument("out", help="new folder or s3:// address for the pages; give it to `encode` beside ANNOTATED")
    parser.add_argument("--seed", type=int, default=0, help="draws the errors (default: %(default)s)")
    chosen = options.parse(parser, arguments, AugmentOptions)
    out = new_folder(chosen.out)
    annotated, read = (DataSet(sources.absolute(folder)) for folder in (chosen.annotated, chosen.read))
    errors = learn_errors(annotated, read)
    pages = write_misread(annotated, errors, chosen.seed, DataSet(out))
    terminal.say(f"OCR misread {errors.rate:.1%} of {errors.characters} compared characters")
    terminal.say(f"{pages} training pages: {chosen.out}")
    return 0
