"""Attention over a page: where it goes from a title, a table or some words."""

import argparse
import re
from collections.abc import Callable, Sequence

import numpy as np

from layoutray import checkpoint, tracking
from layoutray.document import Box, Page
from layoutray.document.tags import kind_of
from layoutray.errors import InputError
from layoutray.report import attention_map, png
from layoutray.report.page_picture import page_picture
from layoutray.unit_attention import UnitAttention, attention_from
from pipelines import _terminal as terminal
from pipelines._pages import add_page_options, name_of, pages_asked_for, place

Unit = Callable[[Page], list[int]]
"""Numbers of the words of a page that attention is drawn from; none where the page has no such words."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture attention", description=__doc__)
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    add_page_options(parser, "that has the unit")
    which_words = parser.add_mutually_exclusive_group(required=True)
    which_words.add_argument(
        "--unit", metavar="LABEL", help="attention from all words of this label or entity type, as title or table"
    )
    which_words.add_argument("--words", metavar="FIRST-LAST", help="from these words of the page, counted from 0")
    which_words.add_argument(
        "--box", metavar="X0,Y0,X1,Y1", help="from the words whose middle is in this box, in shares of the page"
    )
    parser.add_argument(
        "--layer", type=int, help="counted from 0, where every layer has its attention (default: the last)"
    )
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    terminal.add_picture_option(parser, "attention.png")
    options = parser.parse_args(arguments)
    name, words_of = _unit(options)
    uri = options.tracking_uri or tracking.default_uri()
    folder, _ = tracking.checkpoint_folder(options.checkpoint, uri)
    loaded = checkpoint.load(folder)
    page, unit = _page(options, name, words_of)
    found = attention_from(unit, page, loaded, options.layer)
    title = f"Attention of {loaded.recipe.name} ({loaded.recipe.arch}) from {name}, {len(unit)} words"
    picture = png.png(attention_map.draw(page_picture(page), page, unit, found.words, [title, *_caption(page, found)]))
    if run := tracking.noted(folder, uri):
        run.log_picture(options.out.stem, picture)
    return terminal.show_picture(picture, options.out)


def _unit(options: argparse.Namespace) -> tuple[str, Unit]:
    """What the unit is called, and how to find it on a page."""
    if options.unit:
        return options.unit, lambda page: [
            number for number, word in enumerate(page.words) if kind_of(word.tag or "") == options.unit
        ]
    if options.words:
        first, last = _words(options.words)
        return f"words {first} to {last}", lambda page: list(range(first, last + 1)) if last < len(page.words) else []
    box = _box(options.box)
    return f"box {options.box}", lambda page: [number for number, word in enumerate(page.words) if _in(word.box, box)]


def _words(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    if found is None or int(found[1]) > int(found[2]):
        raise InputError(
            f"--words is {text!r}; it must be FIRST-LAST with FIRST <= LAST, counted from 0, such as 10-25"
        )
    return int(found[1]), int(found[2])


def _box(text: str) -> Box:
    try:
        x0, y0, x1, y1 = map(float, text.split(","))
    except ValueError:
        raise InputError(
            f"--box is {text!r}; it must be X0,Y0,X1,Y1 in shares of the page, such as 0.1,0.05,0.9,0.2"
        ) from None
    return Box(x0, y0, x1, y1)


def _in(word: Box, box: Box) -> bool:
    return box.x0 <= (word.x0 + word.x1) / 2 <= box.x1 and box.y0 <= (word.y0 + word.y1) / 2 <= box.y1


def _page(options: argparse.Namespace, name: str, words_of: Unit) -> tuple[Page, list[int]]:
    """The first of the pages that are asked for, that have a picture and the unit called `name`; and the unit's words."""
    best: tuple[Page, list[int]] | None = None
    looked_at, labels = 0, set[str]()
    for page in pages_asked_for(options):
        looked_at += 1
        labels |= {kind_of(word.tag) for word in page.words if word.tag}
        if (best is None or place(page) < place(best[0])) and (unit := words_of(page)):
            best = page, unit
    if best:
        return best
    raise InputError(
        f"none of {looked_at} pages with a picture in {options.pages} that are asked for has {name}; labels there: "
        f"{', '.join(sorted(labels)) or 'none'}; see the columns page_id, source and tags of its PAGES"
    )


def _caption(page: Page, found: UnitAttention) -> list[str]:
    seen = np.count_nonzero(found.words)
    return [
        name_of(page),
        f"Mean over {found.heads} heads and {found.tokens} tokens; {seen} of {len(page.words)} words are seen from there; "
        f"{attention_map.percent(max(0.0, 1 - found.words.sum()))} of the attention goes to no word",
    ]
