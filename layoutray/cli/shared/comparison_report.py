"""The HTML report of `layoutray compare`, from what was measured and from the pictures of pages."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.compare.comparison import Comparison, DocumentDifference
from layoutray.compare.comparison_page import ComparedDocument, ComparedDocuments, comparison_page
from layoutray.document import Page
from layoutray.errors import DocumentError
from layoutray.evaluation.page_selection import PageSelection, page_tables
from layoutray.report import png
from layoutray.report.intervals import intervals
from layoutray.report.page_picture import page_picture
from layoutray.store import codec

_PICTURE_SIZE = (320, 320)
"""Pixels that the picture of a page has at most."""
_NOTES = (
    "F1 is the mean of the seeds, with an interval at 95 % that is bootstrapped over documents and seeds; with two or "
    "three seeds it is too narrow. Differences are paired: both recipes get the same draws.",
    "Under character errors, words are changed before the model reads them, and answers are compared by the unchanged "
    "words: the figure says whether values are found, not whether they are read correctly. A model that generates "
    "values copies what it reads.",
    "A template is known if the first five words of the document, or half of its runs of three words, are those of a "
    "training document.",
    "Accepted at 99 % is the largest share of answered fields, by falling confidence, with a precision of 0.99 on "
    "these documents. Others may differ.",
    "Milliseconds were measured on the machine that made this report, from words to answers, without OCR.",
)


def html(comparison: Comparison, selection: PageSelection) -> str:
    """The report.

    Args:
        selection: the pages on which the recipes were measured.
    """
    rows = comparison.recipes()
    documents = len(next(iter(comparison.models.values()))[0].clean.counts)
    seeds = "1 seed" if len(rows[0].seeds) == 1 else f"{len(rows[0].seeds)} seeds"
    chart = {
        one.name: {"as read": one.f1, **{f"{100 * rate:.0f} % wrong characters": f1 for rate, f1 in one.noisy.items()}}
        for one in rows
    }
    return comparison_page(
        f"{len(rows)} recipes, {seeds} each, on {documents} documents of {selection.name}",
        comparison.verdict,
        recipes=rows,
        documents=[_documents(comparison, one.name, selection) for one in rows[1:]],
        chart=png.png(intervals(chart, comparison.metric)),
        notes=_NOTES,
    )


def _documents(comparison: Comparison, other: str, selection: PageSelection) -> ComparedDocuments:
    lost, found = comparison.lost(other), comparison.found(other)
    pages = _first_pages(selection, [one.doc_id for one in (*lost, *found)])
    return ComparedDocuments(comparison.best, other, _shown(lost, pages), _shown(found, pages))


def _shown(differences: Iterable[DocumentDifference], pages: Mapping[str, Page]) -> list[ComparedDocument]:
    return [
        ComparedDocument(page.source, one.expected, one.by_best, one.by_other, _picture(page))
        for one in differences
        for page in [pages[one.doc_id]]
    ]


def _first_pages(selection: PageSelection, doc_ids: Sequence[str]) -> dict[str, Page]:
    """The first selected page of each document."""
    rows = selection.rows & pc.field("doc_id").isin(pa.array(doc_ids, pa.string()))
    pages = [page for table in page_tables(selection.folders, rows) for page in codec.pages_of(table)]
    return {page.doc_id: page for page in sorted(pages, key=lambda page: -page.number)}


def _picture(page: Page) -> bytes | None:
    """The page, small; None if it has no picture that can be read."""
    if not page.image:
        return None
    try:
        picture = page_picture(page)
    except DocumentError:
        return None
    picture.thumbnail(_PICTURE_SIZE)
    return png.png(picture)
