"""The report of a comparison: one HTML file that needs no other file and no network."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from layoutray.metrics.bootstrap import Interval

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px }
th, td { padding: .35rem .8rem; border-bottom: 1px solid #e3e6ea; text-align: right; vertical-align: top }
th:first-child, td:first-child { text-align: left }
.verdict { font-size: 1.15rem; font-weight: 600 }
.note { color: #57606a }
img { max-width: 100% }
td img { max-height: 220px; border: 1px solid #e3e6ea }
"""


@dataclass(frozen=True, slots=True)
class ComparedRecipe:
    """One row of the report's table.

    Attributes:
        seeds: the F1 of each seed.
        unseen: F1 on documents whose template does not occur in training; None if there are none.
        noisy: F1 by share of wrong characters.
        difference: F1 of the best recipe minus this one's; None for the best.
        coverage: share of answers that can be accepted at a precision of 0.99; None without fields.
        milliseconds: to answer a page.
    """

    name: str
    f1: Interval
    seeds: tuple[float, ...]
    unseen: Interval | None
    noisy: Mapping[float, Interval]
    difference: Interval | None
    calibration_error: float
    coverage: float | None
    milliseconds: float
    parameters: int


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document of which two recipes find different numbers of values, each as the mean of its seeds.

    Attributes:
        picture: its first page as PNG; None if it has none that can be read.
    """

    source: str
    expected: int
    by_best: float
    by_other: float
    picture: bytes | None


@dataclass(frozen=True, slots=True)
class ComparedDocuments:
    """The documents in which the best recipe and another one differ most.

    Attributes:
        lost: the best recipe finds more values than the other.
        found: the other recipe finds more values than the best.
    """

    best: str
    other: str
    lost: Sequence[ComparedDocument]
    found: Sequence[ComparedDocument]


def comparison_page(
    title: str,
    verdict: str,
    *,
    recipes: Sequence[ComparedRecipe],
    documents: Iterable[ComparedDocuments],
    chart: bytes,
    notes: Iterable[str],
) -> str:
    """The report as HTML.

    Args:
        recipes: best first.
        chart: a PNG of the F1 of all recipes.
        notes: how the figures were made, a sentence or two each.
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict">{escape(verdict)}</p>',
        _recipe_table(recipes),
        _image(chart, "F1 of each recipe"),
        "<ul class='note'>",
        *(f"<li>{escape(note)}</li>" for note in notes),
        "</ul>",
        *(_document_tables(one) for one in documents),
    ]
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
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


def _document_tables(one: ComparedDocuments) -> str:
    return "\n".join(
        [
            f"<h2>{escape(one.best)} and {escape(one.other)}</h2>",
            _document_table(f"{one.best} finds more of these documents", one, one.lost),
            _document_table(f"{one.other} finds more of these documents", one, one.found),
        ]
    )


def _document_table(title: str, pair: ComparedDocuments, documents: Sequence[ComparedDocument]) -> str:
    if not documents:
        return f"<h3>{escape(title)}</h3>\n<p>none</p>"
    head = ["document", "values", f"found by {pair.best}", f"found by {pair.other}", "first page"]
    rows = [
        [
            escape(one.source.rpartition("/")[2]),
            str(one.expected),
            f"{one.by_best:.1f}",
            f"{one.by_other:.1f}",
            _image(one.picture, one.source) if one.picture else "",
        ]
        for one in documents
    ]
    return f"<h3>{escape(title)}</h3>\n{_table(head, rows)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells of `rows` are HTML, those of `head` are text."""
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join(["<table>", f"<tr>{titles}</tr>", *lines, "</table>"])


def _interval(one: Interval, sign: str = "") -> str:
    return f"{one.value:{sign}.3f} ({one.low:{sign}.3f} to {one.high:{sign}.3f})"


def _image(png: bytes, description: str) -> str:
    data = base64.b64encode(png).decode()
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{data}">'
