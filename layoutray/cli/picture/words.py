"""`layoutray picture words`: the words of pages with boxes, confidences and reading order, to judge OCR.

A PNG shows one page, a PDF many. `--worst` leaves out pages without a confidence: pages on which OCR found no word, and
pages whose words have none, e.g. those of a text layer.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.document import Page
from layoutray.document.filters import confidence
from layoutray.errors import InputError
from layoutray.report import png, recognised_words
from layoutray.report.page_picture import page_picture
from layoutray.report.recognised_words import DOUBTFUL
from layoutray.store import codec
from layoutray.store.data_set import DataSet

_COLUMNS = ("doc_id", "page", "page_id")
Rank = tuple[float, str, int, str]
"""Sort key of a page: mean confidence (0 without `--worst`), doc_id, page number, page_id."""


@dataclass(frozen=True, kw_only=True)
class PageChoice:
    """Options that choose pages with a picture."""

    pages: str = option(help="folder written by `layoutray ingest`")
    page: str | None = option(
        "--page",
        group="page",
        metavar="PAGE_ID",
        help="page to draw (default: the first by doc_id and number with a picture)",
    )
    source: str = option(
        "--source", group="page", metavar="TEXT", default="", help="draw the first page whose file name contains TEXT"
    )

    def rows(self) -> pc.Expression:
        """The filter for rows of PAGES, without `source`."""
        rows = pc.field("image") != ""
        return rows & (pc.field("page_id") == self.page) if self.page else rows

    def has_source(self, source: str) -> bool:
        """Whether pages of the file `source` may be drawn."""
        return self.source in file_name(source)


@dataclass(frozen=True, kw_only=True)
class WordsOptions(PageChoice):
    """Options of `layoutray picture words`."""

    worst: int | None = option(
        "--worst", type=checked.positive, metavar="N", help="draw the N pages with the lowest mean word confidence"
    )
    limit: int = option(
        "--limit",
        type=checked.positive,
        default=50,
        metavar="N",
        help="maximum number of pages of a PDF without --worst (default: %(default)s)",
    )
    out: Path = options.picture_file("words.png", (".png", ".pdf"))

    @property
    def maximum(self) -> int:
        """Maximum number of pages to draw."""
        return 1 if self.out.suffix == ".png" else self.worst or self.limit


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("picture words", arguments, WordsOptions)
    if chosen.maximum < (chosen.worst or 1):
        raise InputError(f"--worst is {chosen.worst}, but a PNG shows one page; write a PDF, e.g. --out words.pdf")
    pages = _read(chosen, _first_ranks(chosen))
    pictures = (recognised_words.draw(page_picture(page), page, _caption(page)) for page in pages)
    png.write(pictures, chosen.out)
    return terminal.show_path(chosen.out)


def _first_ranks(chosen: WordsOptions) -> list[Rank]:
    """Ranks of the pages to draw, in order. Raises InputError if there is none."""
    pages = ranked = 0
    first: list[Rank] = []
    for batch in DataSet(chosen.pages).scan_pages([*_COLUMNS, "source", "confidences"], chosen.rows()):
        table = batch.filter(pa.array(chosen.has_source(source) for source in batch["source"].to_pylist()))
        keys = _mean_confidences(table) if chosen.worst else [0.0] * table.num_rows
        names = [table[name].to_pylist() for name in _COLUMNS]
        ranks = [(key, *page) for key, *page in zip(keys, *names, strict=True) if key is not None]
        pages, ranked = pages + table.num_rows, ranked + len(ranks)
        first = heapq.nsmallest(chosen.maximum, [*first, *ranks])
    if not first:
        raise InputError(
            f"none of {pages} pages with a picture in {chosen.pages} that match the options has a word with a "
            "confidence; draw them without --worst"
            if pages
            else f"no page of {chosen.pages} that matches the options has a picture; see its columns page_id and source"
        )
    if ranked < pages:
        terminal.say(f"{pages - ranked} of {pages} pages have no word with a confidence and are left out")
    if chosen.out.suffix == ".pdf" and not chosen.worst and len(first) < ranked:
        terminal.say(f"the PDF has the first {len(first)} of {ranked} pages; --limit sets their number")
    return first


def _mean_confidences(table: pa.Table) -> list[float | None]:
    """The mean confidence of each page's words; None for a page without one."""
    lists = table["confidences"].combine_chunks()
    words = pa.table({"page": lists.value_parent_indices(), "confidence": lists.flatten()})
    means = words.group_by("page").aggregate([("confidence", "mean")])
    mean_of = dict(zip(means["page"].to_pylist(), means["confidence_mean"].to_pylist(), strict=True))
    return [mean_of.get(row) for row in range(table.num_rows)]


def _read(chosen: WordsOptions, ranks: Sequence[Rank]) -> Iterator[Page]:
    ids = [page_id for *_, page_id in ranks]
    pages: dict[str, Page] = {}
    for table in DataSet(chosen.pages).scan_pages(filter=pc.field("page_id").isin(ids)):
        pages |= zip(table["page_id"].to_pylist(), codec.pages_of(table), strict=True)
    return (pages[page_id] for page_id in ids)


def _caption(page: Page) -> list[str]:
    mean = confidence(page)
    words = f"{len(page.words)} words"
    if mean is not None:
        known = [word.confidence for word in page.words if word.confidence is not None]
        doubtful = sum(value < DOUBTFUL for value in known) / len(known)
        words += f", mean confidence {mean:.2f}, {doubtful:.0%} below {DOUBTFUL}"
    origin = page.provenance
    engine = f"{origin.engine} {origin.version}" if origin.engine else origin.words.replace("_", " ")
    return [f"{file_name(page.source)}, page {page.number}", words, f"words from {engine}"]


def file_name(source: str) -> str:
    return source.rpartition("/")[2]
