"""The report of a comparison: one HTML file that needs no other file and no network."""

import base64
from collections.abc import Iterable, Sequence
from html import escape

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.compare.comparison import ComparedRecipe, Comparison
from layoutray.document import Page
from layoutray.errors import DocumentError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.bootstrap import Interval
from layoutray.report import png
from layoutray.report.intervals import intervals
from layoutray.report.page_picture import page_picture

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
.table { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: 13px }
th, td { padding: .35rem .8rem; border-bottom: 1px solid #e3e6ea; text-align: right; vertical-align: top }
th:first-child, td:first-child { text-align: left }
.verdict { font-size: 1.15rem; font-weight: 600 }
.note { color: #57606a }
img { max-width: 100% }
td img { max-height: 220px; border: 1px solid #e3e6ea }
"""
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


def comparison_page(comparison: Comparison, selection: PageSelection) -> str:
    """The report as HTML."""
    rows = comparison.recipes()
    seeds = "1 seed" if len(rows[0].seeds) == 1 else f"{len(rows[0].seeds)} seeds"
    title = escape(f"{len(rows)} recipes, {seeds} each, on {comparison.documents} documents of {selection.name}")
    curves = {
        one.name: {"as read": one.f1, **{f"{100 * rate:.0f} % wrong characters": f1 for rate, f1 in one.noisy.items()}}
        for one in rows
    }
    body = [
        f"<h1>{title}</h1>",
        f'<p class="verdict">{escape(comparison.verdict)}</p>',
        _recipe_table(rows),
        _image(png.png(intervals(curves, comparison.metric)), "F1 of each recipe"),
        "<ul class='note'>",
        *(f"<li>{escape(note)}</li>" for note in _NOTES),
        "</ul>",
        *(_document_tables(comparison, one.name, selection) for one in rows[1:]),
    ]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        ]
    )


def _recipe_table(recipes: Sequence[ComparedRecipe]) -> str:
    rates = [*recipes[0].noisy]
    head = [
        "recipe",
        "F1",
        "best minus this",
        "F1 on unseen templates",
        *(f"F1 at {100 * rate:.0f} % wrong characters" for rate in rates),
        "calibration error",
        "accepted at 99 %",
        "ms a page",
        "parameters",
    ]
    rows = [
        [
            one.name,
            _interval(one.f1),
            "" if one.difference is None else _interval(one.difference, sign="+"),
            "" if one.unseen is None else _interval(one.unseen),
            *(_interval(one.noisy[rate]) for rate in rates),
            f"{one.calibration_error:.3f}",
            "" if one.coverage is None else f"{100 * one.coverage:.0f} %",
            f"{one.milliseconds:.1f}",
            f"{one.parameters:,}",
        ]
        for one in recipes
    ]
    return _table(head, [list(map(escape, row)) for row in rows])


def _document_tables(comparison: Comparison, other: str, selection: PageSelection) -> str:
    """The documents in which the best recipe and another one differ most."""
    lost, found = comparison.differing(other, 1), comparison.differing(other, -1)
    pages = _first_pages(selection, [one.doc_id for one in (*lost, *found)])
    head = ["document", "values", f"found by {comparison.best}", f"found by {other}", "first page"]
    parts = [f"<h2>{escape(comparison.best)} and {escape(other)}</h2>"]
    for name, documents in ((comparison.best, lost), (other, found)):
        rows = [
            [
                escape(page.source.rpartition("/")[2]),
                str(one.expected),
                f"{one.by_best:.1f}",
                f"{one.by_other:.1f}",
                _picture(page),
            ]
            for one in documents
            for page in [pages[one.doc_id]]
        ]
        parts.append(f"<h3>{escape(name)} finds more of these documents</h3>")
        parts.append(_table(head, rows) if rows else "<p>none</p>")
    return "\n".join(parts)


def _first_pages(selection: PageSelection, doc_ids: Sequence[str]) -> dict[str, Page]:
    pages = selection.pages(pc.field("doc_id").isin(pa.array(doc_ids, pa.string())))
    return {page.doc_id: page for page in sorted(pages, key=lambda page: -page.number)}


def _picture(page: Page) -> str:
    """The page, small; empty if it has no picture that can be read."""
    if not page.image:
        return ""
    try:
        picture = page_picture(page)
    except DocumentError:
        return ""
    picture.thumbnail(_PICTURE_SIZE)
    return _image(png.png(picture), page.source)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells of `rows` are HTML, those of `head` are text."""
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join(['<div class="table" tabindex="0"><table>', f"<tr>{titles}</tr>", *lines, "</table></div>"])


def _interval(one: Interval, sign: str = "") -> str:
    return f"{one.value:{sign}.3f} ({one.low:{sign}.3f} to {one.high:{sign}.3f})"


def _image(png: bytes, description: str) -> str:
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{data}">'
