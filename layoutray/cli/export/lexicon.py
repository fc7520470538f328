"""`layoutray export lexicon`: the words that occur on many pages, for `recognition.rapidocr.lexicon`."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError
from layoutray.ocr import lexicon
from layoutray.store import shards, sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class LexiconOptions:
    """Options of `layoutray export lexicon`."""

    pages: str = options.pages()
    out: str = option(help="new file or s3:// address for the lexicon")
    without: str = option(
        "--without",
        default="",
        choices=("", "train", "dev", "test"),
        metavar="SPLIT",
        help="leave out the pages of this split, for example test to measure the lexicon on it",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export lexicon", arguments, LexiconOptions)
    out = sources.absolute(chosen.out)
    if sources.exists(out):
        raise InputError(f"{chosen.out} exists; give another file, or delete it")
    chosen_pages = pc.field("split") != chosen.without if chosen.without else None
    counts = lexicon.count_words(DataSet(pages_folder(chosen.pages)).read_pages(chosen_pages))
    if not counts:
        raise InputError(f"no word of three letters occurs on three pages of {chosen.pages}; ingest more pages")
    folder, _, name = out.rpartition("/")
    shards.write_bytes(lexicon.to_bytes(counts), folder, name)
    terminal.say(f"{len(counts)} words: {chosen.out}; read pages with --set recognition.rapidocr.lexicon={chosen.out}")
    return 0
